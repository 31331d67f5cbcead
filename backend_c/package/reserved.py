"""Names that packages, entries and their arguments cannot have, because C, C++ or Python reserve them."""

from __future__ import annotations

import re
import sys

# Headers serve both languages.
KEYWORDS = frozenset(
    """alignas alignof and asm auto bool break case catch char class compl concept const consteval constexpr
constinit const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false float
for friend goto if inline int long mutable namespace new noexcept not nullptr operator or private protected public register
reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch template this
thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor
linux unix i386 std""".split()
)
# Macros of headers that a program may include in front of the package's.
MACROS = frozenset(
    """I NAN INFINITY HUGE_VAL NULL EOF BUFSIZ assert complex errno fpclassify imaginary isfinite isgreater isgreaterequal
isinf isless islessequal islessgreater isnan isnormal isunordered kill_dependency major makedev minor noreturn offsetof
setjmp signbit stderr stdin stdout va_arg va_copy va_end va_start""".split()
)
# A package has a namespace of its name in C++: functions and types of the C library are not namespaces.
_C_LIBRARY = frozenset(
    """FILE a64l abort abs access acct acos acosh alarm aligned_alloc alloca arc4random arc4random_buf arc4random_uniform
asctime asin asinh at_quick_exit atan atan2 atanh atexit atof atoi atol bcmp bcopy brk bsearch bzero calloc cbrt ceil
chdir chmod chown chroot clearenv clearerr clock clock_getcpuclockid clock_getres clock_gettime clock_nanosleep
clock_settime close closefrom confstr copysign cos cosh creat crypt ctermid ctime daemon difftime div dprintf drand48
drem dup dup2 dysize ecvt endusershell erand48 erf erfc errno execl execle execlp execv execve execvp exit exp exp2
explicit_bzero expm1 fabs faccessat fchdir fchmod fchmodat fchown fchownat fclose fcntl fcvt fdatasync fdim fdopen
feof ferror fexecve fflush ffs fgetc fgetpos fgets fileno finite flock flockfile floor fma fmax fmemopen fmin fmod
fopen fork fpathconf fprintf fputc fputs fread free freopen frexp fscanf fseek fseeko fsetpos fstat fstatat fsync
ftell ftello ftruncate ftrylockfile funlockfile futimens fwrite gamma gcvt getc getchar getcwd getdelim getdomainname
getdtablesize getegid getentropy getenv geteuid getgid getgroups gethostid gethostname getline getloadavg getlogin
getopt getpagesize getpass getpgid getpgrp getpid getppid getsid getsubopt getuid getusershell getw getwd gmtime
gsignal hypot ilogb index initstate isatty isinf isnan itimerspec j0 j1 jn jrand48 kill killpg l64a labs lchmod lchown
lcong48 ldexp ldiv lgamma link linkat llabs lldiv llrint llround localtime lockf log log10 log1p log2 logb lrand48
lrint lround lseek lstat madvise malloc mblen mbstowcs mbtowc memccpy memchr memcmp memcpy memmove memory_order memset
mincore mkdir mkdirat mkdtemp mkfifo mkfifoat mknod mknodat mkstemp mkstemps mktemp mktime mlock mlockall mmap modf
mprotect mrand48 msync munlock munlockall munmap nan nanosleep nearbyint nextafter nexttoward nice nrand48 on_exit
open open_memstream openat pathconf pause pclose perror pipe popen pow pread printf profil pselect psiginfo psignal
putc putchar putenv puts putw pwrite qecvt qfcvt qgcvt qsort quick_exit raise rand random read readlink readlinkat
realloc reallocarray realpath remainder remove remquo rename renameat revoke rewind rindex rint rmdir round rpmatch
sbrk scalb scalbln scalbn scanf seed48 select setbuf setbuffer setdomainname setegid setenv seteuid setgid sethostid
sethostname setlinebuf setlogin setpgid setpgrp setregid setreuid setsid setstate setuid setusershell setvbuf shm_open
shm_unlink sigaction sigaddset sigaltstack sigblock sigcontext sigdelset sigemptyset sigev_value sigevent sigfillset
siggetmask siginterrupt sigismember signal significand sigpending sigprocmask sigqueue sigreturn sigsetmask sigstack
sigsuspend sigtimedwait sigval sigwait sigwaitinfo sin sinh sleep snprintf sprintf sqrt srand srand48 srandom sscanf
ssignal stat stpcpy stpncpy strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup strerror strftime strlen
strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr strtod strtof
strtok strtol strtold strtoq strtoul strtouq strxfrm symlink symlinkat sync syscall sysconf system tan tanh tcgetpgrp
tcsetpgrp tempnam tgamma time timegm timelocal timer_create timer_delete timer_getoverrun timer_gettime timer_settime
timespec timespec_get timeval tm tmpfile tmpnam trunc truncate ttyname ttyslot tzset ualarm uint ulong umask ungetc
unlink unlinkat unsetenv ushort usleep utimensat va_list valloc vdprintf vfork vfprintf vfscanf vhangup vprintf vscanf
vsnprintf vsprintf vsscanf wcstombs wctomb write y0 y1 yn""".split()
)
# A package has a header of its name, in a folder that is searched before the system's, ...
_HEADERS = frozenset(
    """assert complex cpio ctype dirent dlfcn errno fcntl features fenv float fmtmsg fnmatch ftw glob grp iconv inttypes
iso646 langinfo libgen limits locale malloc math memory monetary mqueue ndbm netdb nl_types poll pthread pwd regex sched
search semaphore setjmp signal spawn stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib
stdnoreturn string strings stropts syslog tar termios tgmath threads time trace uchar ulimit unistd utime utmpx values
wchar wctype wordexp""".split()
)
# ... a library, whose name the linker may know already, and a target of CMake, which reserves some names.
_LIBRARIES = frozenset("all c cmake clean dl edit_cache help install m package pthread rebuild_cache rt test".split())


def is_taken(name: str) -> bool:
    """Return whether a package cannot have this name.

    Its header, library, namespace, symbols or module would collide with others.
    """
    known = KEYWORDS | MACROS | _C_LIBRARY | _HEADERS | _LIBRARIES
    modules = sys.stdlib_module_names | {"numpy", "torch", "ml_dtypes"}  # the Python loader is a module of the package's name
    ours = re.fullmatch(r"sc|sc_\w*|SC_\w*|scriptc\w*|DL[A-Z]\w*", name)
    theirs = re.fullmatch(r"(pthread|atomic|sched|posix)_\w*|u?int\w*_t|\w+_t", name)
    return name in known or name in modules or bool(ours or theirs)
