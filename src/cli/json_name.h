/* json_name.h: the name of a file of JSON, as the library takes one in the place of JSON. */
#ifndef HN_CLI_JSON_NAME_H
#define HN_CLI_JSON_NAME_H

enum { HN_JSON_NAME = 4352 };

/* `path`, or "./" and it in `room`, where it begins as JSON does; NULL of NULL. */
const char *hn_json_name(const char *path, char room[HN_JSON_NAME]);

#endif
