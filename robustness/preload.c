/* Loaded before the C library: counts the calls of a process on the files of one folder and makes
 * one of them fail or kills the process there. As the environment variables request, it also
 * shifts the clock, simulates a full disk, and makes links and locks fail. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { NONE, KILL_BEFORE, KILL_AFTER, FAIL, FAIL_FROM_HERE, FAIL_ALTHOUGH_DONE, SHORT };

#define DESCRIPTORS 4096
#define CALLS 100000

static char folder[4096];
static unsigned char ours[DESCRIPTORS];
static const char *names[CALLS];
static int armed, calls, wanted, fault, number;

/* Start counting. At call `at` (from 1; 0: never) `what` happens, with `error` as errno. */
void faults_arm(const char *path, int at, int what, int error)
{
    strncpy(folder, path, sizeof folder - 1);
    memset(ours, 0, sizeof ours);
    calls = 0;
    wanted = at;
    fault = what;
    number = error;
    armed = 1;
}

/* Stop counting and return the number of calls. */
int faults_disarm(void)
{
    armed = 0;
    return calls;
}

const char *faults_name(int call)
{
    return names[call - 1];
}

static int is_ours(int descriptor)
{
    return armed && descriptor >= 0 && descriptor < DESCRIPTORS && ours[descriptor];
}

static int is_inside(int at, const char *path)
{
    size_t length = strlen(folder);
    if (!armed || !path)
        return 0;
    if (path[0] != '/')
        return is_ours(at);
    return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Count a call and return the fault for it. */
static int next(const char *name)
{
    if (calls < CALLS)
        names[calls] = name;
    calls++;
    if (calls == wanted && fault == KILL_BEFORE)
        die();
    if (calls == wanted || (calls > wanted && fault == FAIL_FROM_HERE)) {
        errno = number;
        return fault;
    }
    return NONE;
}

static long end(int what, long result)
{
    if (what == KILL_AFTER)
        die();
    if (what == FAIL_ALTHOUGH_DONE) {
        errno = number;
        return -1;
    }
    return result;
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

#define REAL(name) ((__typeof__(&name))real(#name))
#define FAILS(what) ((what) == FAIL || (what) == FAIL_FROM_HERE)

/* A call on `mine`: count it, make it, end as planned. */
#define MAKE(mine, name, ...)                      \
    do {                                           \
        int what_ = (mine) ? next(#name) : NONE;   \
        if (FAILS(what_))                          \
            return -1;                             \
        return end(what_, REAL(name)(__VA_ARGS__)); \
    } while (0)

/* ------------------------------------------------------------------ open and close */

static int note_opened(int what, int descriptor)
{
    if (what == FAIL_ALTHOUGH_DONE && descriptor >= 0) {
        REAL(close)(descriptor);
        errno = number;
        return -1;
    }
    if (what == KILL_AFTER)
        die();
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        ours[descriptor] = 1;
    return descriptor;
}

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPEN_AT(name)                                              \
    int name(int at, const char *path, int flags, ...)             \
    {                                                              \
        va_list arguments;                                         \
        va_start(arguments, flags);                                \
        mode_t mode = mode_of(flags, arguments);                   \
        va_end(arguments);                                         \
        if (!is_inside(at, path))                                  \
            return REAL(name)(at, path, flags, mode);              \
        int what = next(#name);                                    \
        if (FAILS(what))                                           \
            return -1;                                             \
        return note_opened(what, REAL(name)(at, path, flags, mode)); \
    }
OPEN_AT(openat)
OPEN_AT(openat64)

#define OPEN(name)                                             \
    int name(const char *path, int flags, ...)                 \
    {                                                          \
        va_list arguments;                                     \
        va_start(arguments, flags);                            \
        mode_t mode = mode_of(flags, arguments);               \
        va_end(arguments);                                     \
        if (!is_inside(AT_FDCWD, path))                        \
            return REAL(name)(path, flags, mode);              \
        int what = next(#name);                                \
        if (FAILS(what))                                       \
            return -1;                                         \
        return note_opened(what, REAL(name)(path, flags, mode)); \
    }
OPEN(open)
OPEN(open64)

/* Linux releases the descriptor even if close() fails. */
int close(int descriptor)
{
    if (!is_ours(descriptor))
        return REAL(close)(descriptor);
    int what = next("close");
    ours[descriptor] = 0;
    int result = REAL(close)(descriptor);
    return FAILS(what) ? -1 : end(what, result);
}

/* -------------------------------------------------------------------- read and write */

static int disk_is_full(int descriptor)
{
    const char *flag = getenv("FAULTS_DISK_FULL");
    struct stat found;
    return flag && descriptor > 2 && !access(flag, F_OK) && !REAL(fstat)(descriptor, &found) &&
           S_ISREG(found.st_mode);
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    if (disk_is_full(descriptor)) {
        errno = ENOSPC;
        return -1;
    }
    int what = is_ours(descriptor) ? next("write") : NONE;
    if (FAILS(what))
        return -1;
    return end(what, REAL(write)(descriptor, data, what == SHORT && size > 1 ? size / 2 : size));
}

ssize_t read(int descriptor, void *data, size_t size)
{
    int what = is_ours(descriptor) ? next("read") : NONE;
    if (FAILS(what))
        return -1;
    return end(what, REAL(read)(descriptor, data, what == SHORT && size > 1 ? size / 2 : size));
}

ssize_t writev(int descriptor, const struct iovec *parts, int amount)
{
    MAKE(is_ours(descriptor), writev, descriptor, parts, amount);
}

off_t lseek(int descriptor, off_t offset, int whence)
{
    MAKE(is_ours(descriptor), lseek, descriptor, offset, whence);
}

off64_t lseek64(int descriptor, off64_t offset, int whence)
{
    MAKE(is_ours(descriptor), lseek64, descriptor, offset, whence);
}

int fsync(int descriptor)
{
    MAKE(is_ours(descriptor), fsync, descriptor);
}

int fdatasync(int descriptor)
{
    MAKE(is_ours(descriptor), fdatasync, descriptor);
}

/* ------------------------------------------------------------------- names and states */

int rename(const char *from, const char *to)
{
    MAKE(is_inside(AT_FDCWD, to), rename, from, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
    MAKE(is_inside(to_at, to), renameat, from_at, from, to_at, to);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    MAKE(is_inside(to_at, to), renameat2, from_at, from, to_at, to, flags);
}

int link(const char *from, const char *to)
{
    if (getenv("FAULTS_NO_LINKS")) {
        errno = EPERM;
        return -1;
    }
    MAKE(is_inside(AT_FDCWD, to), link, from, to);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
    if (getenv("FAULTS_NO_LINKS")) {
        errno = EPERM;
        return -1;
    }
    MAKE(is_inside(to_at, to), linkat, from_at, from, to_at, to, flags);
}

int unlink(const char *path)
{
    MAKE(is_inside(AT_FDCWD, path), unlink, path);
}

int unlinkat(int at, const char *path, int flags)
{
    MAKE(is_inside(at, path), unlinkat, at, path, flags);
}

int flock(int descriptor, int how)
{
    if (getenv("FAULTS_NO_LOCKS")) {
        errno = ENOLCK;
        return -1;
    }
    MAKE(is_ours(descriptor), flock, descriptor, how);
}

int fstat(int descriptor, struct stat *found)
{
    MAKE(is_ours(descriptor), fstat, descriptor, found);
}

int fstat64(int descriptor, struct stat64 *found)
{
    MAKE(is_ours(descriptor), fstat64, descriptor, found);
}

int stat(const char *path, struct stat *found)
{
    MAKE(is_inside(AT_FDCWD, path), stat, path, found);
}

int stat64(const char *path, struct stat64 *found)
{
    MAKE(is_inside(AT_FDCWD, path), stat64, path, found);
}

int lstat(const char *path, struct stat *found)
{
    MAKE(is_inside(AT_FDCWD, path), lstat, path, found);
}

int lstat64(const char *path, struct stat64 *found)
{
    MAKE(is_inside(AT_FDCWD, path), lstat64, path, found);
}

int fstatat(int at, const char *path, struct stat *found, int flags)
{
    MAKE(is_inside(at, path), fstatat, at, path, found, flags);
}

int fstatat64(int at, const char *path, struct stat64 *found, int flags)
{
    MAKE(is_inside(at, path), fstatat64, at, path, found, flags);
}

/* ----------------------------------------------------------------------------- clock */

static time_t moved_by(void)
{
    const char *seconds = getenv("FAULTS_CLOCK");
    return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = REAL(clock_gettime)(clock, now);
    if (!result && clock == CLOCK_REALTIME)
        now->tv_sec += moved_by();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int result = REAL(gettimeofday)(now, zone);
    if (!result)
        now->tv_sec += moved_by();
    return result;
}

time_t time(time_t *now)
{
    time_t result = REAL(time)(NULL) + moved_by();
    if (now)
        *now = result;
    return result;
}
