/* rule.h: who may do what with a file or a folder, where that is the user of this process and nobody else. */
#ifndef HN_BASE_OS_WINDOWS_RULE_H
#define HN_BASE_OS_WINDOWS_RULE_H

#include "base/os/windows/wide.h"

/* Its parts point into it: it stays where it is. */
typedef struct hn_os_rule {
    SECURITY_DESCRIPTOR is;
    union {
        ACL is;
        unsigned char bytes[sizeof(ACL) + sizeof(ACCESS_ALLOWED_ACE) + SECURITY_MAX_SID_SIZE];
    } list;
} hn_os_rule;

/* Nothing comes from the folder that it is in; `inherited`: by what is made in a folder (OBJECT_INHERIT_ACE ...). False: the
 * system's last error says why. */
bool hn_os_own_rule(hn_os_rule *rule, DWORD inherited);

#endif
