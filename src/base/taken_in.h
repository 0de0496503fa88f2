/* taken_in.h: a file that the assembler takes in, byte for byte: a C array of its size would take the compiler longer
 * than the rest of the program. */
#ifndef HN_BASE_TAKEN_IN_H
#define HN_BASE_TAKEN_IN_H

typedef const unsigned char hn_taken_bytes[];

#ifdef __APPLE__
#define HN_TAKEN_SECTION ".const\n"
#define HN_TAKEN_NAME(symbol) "_" symbol
#define HN_TAKEN_BACK ".text\n"
#define HN_TAKEN_OWN(symbol) ".private_extern _" symbol "\n"
#else
#define HN_TAKEN_SECTION ".pushsection .rodata\n"
#define HN_TAKEN_NAME(symbol) symbol
#define HN_TAKEN_BACK ".popsection\n"
#ifdef _WIN32 /* where nothing is exported that does not ask for it */
#define HN_TAKEN_OWN(symbol)
#else
#define HN_TAKEN_OWN(symbol) ".hidden " symbol "\n"
#endif
#endif

/* At the outermost level of a file: name_begin[] and name_end[], aligned to 64 bytes, a zero after them. */
#define HN_TAKE_IN(name, path)                                                                                           \
    __asm__(HN_TAKEN_SECTION ".balign 64\n" HN_TAKEN_OWN(#name "_begin") HN_TAKEN_OWN(#name "_end")                      \
            ".globl " HN_TAKEN_NAME(#name "_begin") "\n" HN_TAKEN_NAME(#name "_begin") ":\n.incbin \"" path "\"\n"       \
            ".globl " HN_TAKEN_NAME(#name "_end") "\n" HN_TAKEN_NAME(#name "_end") ":\n.byte 0\n" HN_TAKEN_BACK);        \
    extern hn_taken_bytes name##_begin, name##_end;

#endif
