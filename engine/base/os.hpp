// The one seam to the operating system for files, sockets and locks. Each function is the system call of the same name:
// same arguments, -1 and errno on failure; calls that a signal interrupted are repeated. Any thread.
//
// Failpoints are compiled in: the n-th call of a kind can be made to fail with a given errno, to be cut short, or to
// kill or stop the process; so can the n-th passing of a place. Off, they cost one relaxed load a call. Programs arm
// them from KILN_FAILPOINTS (paths.hpp reads it), tests through Failpoint.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/result.hpp"

namespace kiln::os {

int openat(int folder, const char* path, int flags, mode_t mode = 0);
int close(int fd);
ssize_t read(int fd, void* data, std::size_t size);
ssize_t pread(int fd, void* data, std::size_t size, off_t offset);
ssize_t write(int fd, const void* data, std::size_t size);
ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset);
int fsync(int fd);
int ftruncate(int fd, off_t size);
int fstat(int fd, struct stat* status);
int fstatat(int folder, const char* path, struct stat* status, int flags);
int fstatfs(int fd, struct statfs* status);
int renameat(int from_folder, const char* from, int to_folder, const char* to);
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags);
int unlinkat(int folder, const char* path, int flags);
ssize_t readlinkat(int folder, const char* path, char* target, std::size_t size);
int mkdirat(int folder, const char* path, mode_t mode);
int fchmod(int fd, mode_t mode);
int futimens(int fd, const struct timespec times[2]);
int flock(int fd, int operation);
int set_ofd_lock(int fd, struct flock* lock);   // fcntl F_OFD_SETLK
int get_ofd_lock(int fd, struct flock* lock);   // fcntl F_OFD_GETLK
DIR* fdopendir(int fd);                         // null and errno on failure; takes fd over on success
struct dirent* readdir(DIR* folder);            // null at the end and, with errno set, on failure (clear errno before)
int memfd_create(const char* name, unsigned flags);
int add_seals(int fd, int seals);               // fcntl F_ADD_SEALS
int duplicate(int fd, int from);                // fcntl F_DUPFD_CLOEXEC
void* mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset);  // MAP_FAILED on failure
int munmap(void* at, std::size_t size);
int socketpair(int domain, int type, int protocol, int fds[2]);
int pipe2(int fds[2], int flags);
ssize_t sendmsg(int fd, const struct msghdr* message, int flags);
ssize_t recvmsg(int fd, struct msghdr* message, int flags);
int poll(struct pollfd* fds, nfds_t count, int timeout_ms);  // EINTR is given back: the caller knows its deadline

// Places in the work that are worth dying at: a worker is about to compile; an entry of the cache is written and not yet
// durable, is durable, has its name; a device process is about to launch; an entry is about to be evicted.
enum class Place : std::uint8_t { compile, entry_write, before_rename, after_rename, launch, eviction };
void reach(Place place);

// cut_short: half of a read or write is done. kill, stop: by SIGKILL, SIGSTOP; a place takes these alone.
enum class FailAction : std::uint8_t { fail, cut_short, kill, stop };

// Arms "the nth call of `call` from now" (1 is the next); with `and_after`, all later ones too. `call` is a name above,
// a place's too, or "any", which counts every call. One failpoint a name; arming again replaces it. Unknown names:
// invalid_argument.
Status arm_failpoint(std::string_view call, std::uint64_t nth, int error_number, bool and_after = false,
                     FailAction action = FailAction::fail);
// "write:3:ENOSPC,fsync:1+:EIO,launch:2:STOP,pwrite:1:SHORT": name, nth ("+": and after), errno name, KILL, STOP, SHORT.
// "" arms nothing. A malformed text arms nothing and is invalid_argument.
Status arm_failpoints(std::string_view text);
void disarm_failpoints();
// Calls of this name since counting began; counting runs while anything is armed ("any" with nth 0 arms mere counting).
std::uint64_t counted_calls(std::string_view call);

// One failpoint for the life of a scope; all are disarmed at its end.
class Failpoint {
 public:
  Failpoint(std::string_view call, std::uint64_t nth, int error_number, bool and_after = false,
            FailAction action = FailAction::fail);
  Failpoint(const Failpoint&) = delete;
  ~Failpoint() { disarm_failpoints(); }
};

}  // namespace kiln::os
