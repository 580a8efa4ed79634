// SPDX-License-Identifier: MIT
//
// The system's calls that take or give offsets, sizes and inode numbers, with 64 bits for them on every host.
#ifndef ZTENSOR_DETAIL_OS_POSIX_CALLS_HPP
#define ZTENSOR_DETAIL_OS_POSIX_CALLS_HPP

#include <ztensor/version.hpp>

#include <cstddef>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#if !defined(__wasi__)
#include <sys/mman.h>
#endif
#if defined(__linux__)
#include <sys/vfs.h>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// Offsets have 64 bits on every host. Where off_t may have 32, its size hangs on a macro that a header can't set for
// the whole program, so the calls that never depend on it are named outright.
#if defined(__GLIBC__) || defined(__ANDROID__)
using posix_offset = ::off64_t;
using posix_status = struct ::stat64;
inline int posix_open(const char* path, int flags, ::mode_t mode) {
    return ::open64(path, flags, mode);
}
inline int posix_stat(int file, posix_status& status) {
    return ::fstat64(file, &status);
}
inline int posix_stat(const char* path, posix_status& status) {
    return ::stat64(path, &status);
}
inline ::ssize_t posix_read(int file, void* to, std::size_t size, posix_offset offset) {
    return ::pread64(file, to, size, offset);
}
inline void* posix_map(int file, std::size_t size) {
    return ::mmap64(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
}
inline void posix_advise(int file, posix_offset offset, posix_offset size, int advice) {
    static_cast<void>(::posix_fadvise64(file, offset, size, advice));
}
inline const char* posix_next_name(::DIR* directory) {
    const struct ::dirent64* const entry = ::readdir64(directory);
    return entry != nullptr ? entry->d_name : nullptr;
}
inline int posix_truncate(int file, posix_offset size) {
    return ::ftruncate64(file, size);
}
inline int posix_open_at(int directory, const char* name, int flags, ::mode_t mode) {
    return ::openat64(directory, name, flags, mode);
}
inline int posix_status_at(int directory, const char* name, posix_status& status) {
    return ::fstatat64(directory, name, &status, AT_SYMLINK_NOFOLLOW);
}
inline posix_offset posix_seek(int file, posix_offset offset) {
    return ::lseek64(file, offset, SEEK_SET);
}
#else
using posix_offset = ::off_t;
using posix_status = struct ::stat;
inline int posix_open(const char* path, int flags, ::mode_t mode) {
    return ::open(path, flags, mode);
}
inline int posix_stat(int file, posix_status& status) {
    return ::fstat(file, &status);
}
inline int posix_stat(const char* path, posix_status& status) {
    return ::stat(path, &status);
}
inline ::ssize_t posix_read(int file, void* to, std::size_t size, posix_offset offset) {
    return ::pread(file, to, size, offset);
}
#if !defined(__wasi__)
inline void* posix_map(int file, std::size_t size) {
    return ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
}
#endif
#if defined(POSIX_FADV_WILLNEED)
inline void posix_advise(int file, posix_offset offset, posix_offset size, int advice) {
    static_cast<void>(::posix_fadvise(file, offset, size, advice));
}
#endif
inline const char* posix_next_name(::DIR* directory) {
    const struct ::dirent* const entry = ::readdir(directory);
    return entry != nullptr ? entry->d_name : nullptr;
}
inline int posix_truncate(int file, posix_offset size) {
    return ::ftruncate(file, size);
}
inline int posix_open_at(int directory, const char* name, int flags, ::mode_t mode) {
    return ::openat(directory, name, flags, mode);
}
inline int posix_status_at(int directory, const char* name, posix_status& status) {
    return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW);
}
inline posix_offset posix_seek(int file, posix_offset offset) {
    return ::lseek(file, offset, SEEK_SET);
}
#endif
#if defined(FALLOC_FL_KEEP_SIZE)
inline int posix_reserve(int file, posix_offset offset, posix_offset size) {
#if defined(__GLIBC__) || defined(__ANDROID__)
    return ::fallocate64(file, FALLOC_FL_KEEP_SIZE, offset, size);
#else
    return ::fallocate(file, FALLOC_FL_KEEP_SIZE, offset, size);
#endif
}
#endif
#if defined(__linux__)
/// The number that Linux gives to this kind of file system. Counts of blocks that 32 bits can't hold are no failure.
inline bool posix_file_system(int file, long& kind) {
#if defined(__GLIBC__) || defined(__ANDROID__)
    struct ::statfs64 found = {};
    const int outcome = ::fstatfs64(file, &found);
#else
    struct ::statfs found = {};
    const int outcome = ::fstatfs(file, &found);
#endif
    kind = static_cast<long>(found.f_type);
    return outcome == 0;
}
#endif
static_assert(sizeof(posix_offset) == 8, "files may be larger than 2 GiB on every host");

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
