// SPDX-License-Identifier: MIT
//
// Loads a module that uses the library, has it verify a file on several threads, and unloads it, again and again: its
// code must stay as long as the threads. Takes the path of the module and that of a file to make. ztensor itself is
// used in another process, which makes the file.
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t count = std::size_t{4} << 20;
constexpr std::size_t tensors = 8;

int write_model(const char* path) {
    const std::vector<float> values(count / tensors);
    auto out = ztensor::writer::create(path, ztensor::write_options().sync(false)).value();
    for (std::size_t i = 0; i < tensors; ++i) {
        const auto digested = ztensor::store().digest(ztensor::digest::sha256);
        out.add(std::to_string(i), {values.size()}, values, digested).value();
    }
    out.finish().value();
    return 0;
}

std::size_t thread_count() {
    std::size_t found = 0;
    if (::DIR* const tasks = ::opendir("/proc/self/task")) {
        while (const ::dirent* const entry = ::readdir(tasks)) {
            found += entry->d_name[0] != '.';
        }
        ::closedir(tasks);
    }
    return found;
}

/// 0 if all is as it should be.
int use(const char* module, const char* path) {
    void* const plugin = ::dlopen(module, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
        std::puts(::dlerror());
        return 2;
    }
    void* const found = ::dlsym(plugin, "read_model");
    std::size_t (*read_model)(const char*) = nullptr;
    static_assert(sizeof(read_model) == sizeof(found));
    *static_cast<void**>(static_cast<void*>(&read_model)) = found; // as POSIX has it
    // On a thread that ends, because a thread that keeps memory for its next call keeps the module, with some C
    // libraries.
    std::size_t seen = 0;
    if (read_model != nullptr) {
        std::thread([&] { seen = read_model(path); }).join();
    }
    if (seen != tensors) {
        return 3;
    }
    ::dlclose(plugin);
    void* const still_loaded = ::dlopen(module, RTLD_NOW | RTLD_NOLOAD);
    if (still_loaded != nullptr) {
        ::dlclose(still_loaded);
    } else if (thread_count() > 1) {
        std::puts("threads run in a module that is gone");
        return 4;
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return 2;
    }
    const ::pid_t child = ::fork();
    if (child == 0) {
        ::_exit(write_model(argv[2]));
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
        return 2;
    }
    for (int times = 0; times < 3; ++times) {
        if (const int outcome = use(argv[1], argv[2]); outcome != 0) {
            return outcome;
        }
    }
    if (thread_count() < 2) {
        std::puts("the module started no thread, so nothing was tried");
        return 5;
    }
    return 0;
}
