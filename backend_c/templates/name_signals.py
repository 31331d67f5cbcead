"""Run signal handlers, such as that of Ctrl-C, during calls of packages. One module serves all of a process."""

import ctypes as c
import threading
import time

Check = c.CFUNCTYPE(c.c_void_p, c.c_void_p)


class Signals:
    """Runs signal handlers during calls of the main thread, which alone runs them.

    While such a call runs, a thread asks it every PERIOD seconds to run some Python code, which is where Python calls
    the handlers of pending signals. So no handler has to be set or replaced. The thread ends when no call has run for
    IDLE periods.
    """

    PERIOD, IDLE = 0.1, 20

    def __init__(self):
        self.context = None  # of the running call
        self.raised = None  # the exception that a handler raised during it
        self.name = b""  # the name of its class, for C
        self.calls = 0
        self.thread = None
        self.renew()

    def renew(self):
        self.checks = self.run_handlers()
        next(self.checks)
        self.check = Check(self.checks.send)

    def run_handlers(self):
        """Let Python call handlers whenever C asks, and yield the address of the name of what one raises.

        A function would call them in front of its first `try`; a generator goes on within one.
        """
        told = None
        while True:
            try:
                while True:
                    yield told
                    told = None
            except GeneratorExit:
                return
            except BaseException as error:
                self.raised, self.name = error, type(error).__name__.encode()
                told = c.cast(c.c_char_p(self.name), c.c_void_p).value

    def run(self, context, function, *arguments):
        """Return what a function of the library returns, or raise what a handler raises during its call."""
        if threading.current_thread() is not threading.main_thread() or self.checks.gi_running:  # called by a handler
            return function(*arguments)
        if self.checks.gi_frame is None:  # a second signal came while the first one's exception was handled
            self.renew()
        if context.check is not self.check:
            context.loaded.c("context_set_check")(context.handle, self.check, None)
            context.check = self.check
        if self.thread is None or not self.thread.is_alive():  # the thread does not exist in a forked child
            self.start()
        outer, self.context, self.raised = self.context, context, None
        self.calls += 1
        try:
            failed = function(*arguments)
            raised, self.raised = self.raised, None
        finally:
            self.context = outer
        if failed and raised is not None:
            where = context.loaded.c("last_error")(context.handle).contents.traceback.decode(errors="replace")
            if where and hasattr(raised, "add_note"):
                raised.add_note(where)
            raise raised
        return failed

    def start(self):
        thread = threading.Thread(target=self.watch, name="scriptc-signals", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread can start: handlers run after the call
            return
        self.thread = thread

    def watch(self):
        idle = 0
        while idle < self.IDLE:
            calls = self.calls
            time.sleep(self.PERIOD)
            context = self.context
            if context is not None:
                context.loaded.c("request_check")(context.handle)
            idle = 0 if context is not None or self.calls != calls else idle + 1
            del context


signals = Signals()
