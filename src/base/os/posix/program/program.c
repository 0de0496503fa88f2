#include "base/os/program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hn_os_begin(int *argc, char ***argv) { (void)argc, (void)argv; }

bool hn_os_folder_enter(const char *path) { return chdir(path) == 0; }

void hn_os_default_variable(const char *name, const char *value) { setenv(name, value, 0); }

void *hn_os_library_open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

const char *hn_os_library_error(void) { return dlerror(); }

/* An object pointer of dlsym as a function pointer, as POSIX asks for it. */
bool hn_os_library_find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}
