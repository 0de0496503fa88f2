/* All that the handler touches is atomic: it can come at any moment, in any thread. What ends the program first
 * puts the terminal back and removes files in the making. */
#include "cli/interrupt.h"

#include "base/os/signals.h"
#include "base/out_file.h"

static atomic_bool is_watching, again_ends_it, hears_hangups, hung_up;
static hn_cancel_flag asked;
static atomic_int which;
static void (*_Atomic restore)(void);
static hn_engine *_Atomic engine;

static void end_by(int number)
{
    void (*const call)(void) = atomic_load(&restore);
    if (call)
        call();
    hn_out_files_remove();
    hn_os_signal_end(number);
}

static void on_signal(int number, bool is_wish)
{
    if (is_wish && atomic_load(&hears_hangups) && hn_os_signal_is_hangup(number)) {
        atomic_store(&hung_up, true);
        return;
    }
    if (!is_wish || !atomic_load(&is_watching) ||
        (atomic_load(&asked.is_set) && atomic_load(&again_ends_it)))
        end_by(number);
    atomic_store(&which, number);
    atomic_store(&asked.is_set, true);
    hn_engine_cancel(atomic_load(&engine));
}

void hn_interrupt_ask(void)
{
    enum { TERMINATE = 15 }; /* as if by that signal, on every system */
    atomic_store(&which, TERMINATE);
    atomic_store(&asked.is_set, true);
    hn_engine_cancel(atomic_load(&engine));
}

void hn_interrupt_install(void) { hn_os_signals_watch(on_signal); }

void hn_interrupt_begin(bool again_ends)
{
    atomic_store(&asked.is_set, false);
    hn_engine_resume(atomic_load(&engine));
    atomic_store(&again_ends_it, again_ends);
    atomic_store(&is_watching, true);
}

void hn_interrupt_hear_hangups(bool hears)
{
    atomic_store(&hung_up, false);
    atomic_store(&hears_hangups, hears);
}

bool hn_interrupt_take_hangup(void) { return atomic_exchange(&hung_up, false); }

/* What is done from here on is not what was to end: what was computed is saved. */
void hn_interrupt_end(void)
{
    atomic_store(&is_watching, false);
    hn_engine_resume(atomic_load(&engine));
}

const hn_cancel_flag *hn_interrupt_flag(void) { return &asked; }

void hn_interrupt_engine(hn_engine *of) { atomic_store(&engine, of); }

bool hn_interrupt_is_asked(void) { return atomic_load(&asked.is_set); }

int hn_interrupt_signal(void) { return atomic_load(&which); }

void hn_interrupt_restore_by(void (*call)(void)) { atomic_store(&restore, call); }
