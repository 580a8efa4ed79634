// SPDX-License-Identifier: MIT
//
// Makes every public call in a process of its own that may have little more address space than it has: each gives a
// value or an error that says what is lacking, and none ends the process. Compiled with all optimisations, which is
// how a call that should have failed was once removed. Takes a folder.
#include "faults/programs/public_calls.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <new>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using public_calls::environment;
using public_calls::named_call;
using ztensor::errc;

enum answer : int { value = 0, lacks_memory = 1, other_error = 2, thrown = 3, not_limited = 4 };

std::size_t address_space() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    const bool is_read = file != nullptr && std::fscanf(file, "%lu", &pages) == 1;
    if (file != nullptr) {
        std::fclose(file);
    }
    return is_read ? pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

/// What the call does with so many more bytes.
int under_limit(const named_call& call, environment& in, std::size_t more) {
    const ::rlim_t most = address_space() + more;
    const ::rlimit limit = {most, most};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) {
        return not_limited;
    }
    try {
        const ztensor::result<void> answer = call.run(in);
        if (answer) {
            return value;
        }
        // A map that the system refuses is told by the system's own word, and what can't be mapped can't be viewed.
        const errc code = answer.error().code();
        if (code == errc::out_of_memory || code == errc::not_viewable ||
            answer.error().os_error() == std::errc::not_enough_memory) {
            return lacks_memory;
        }
        std::printf("%s\n", answer.error().what().c_str());
        std::fflush(stdout);
        return other_error;
    } catch (...) {
        return thrown;
    }
}

/// What `work` returns in a process of its own, or -1 if a signal ended it.
template <class Work>
int answer_of_child(const Work& work) {
    std::fflush(stdout);
    const ::pid_t child = ::fork();
    if (child == 0) {
        ::_exit(work());
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status);
}

/// Memory that does not exist must not be given, however many optimisations there are.
bool array_says_so(std::size_t elements) {
    try {
        const ztensor::array<std::uint64_t> none(elements);
        return false;
    } catch (const std::bad_alloc&) {
        return true;
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    if (!array_says_so(~std::size_t{0} / 16) || !array_says_so(~std::size_t{0} / 8) ||
        !array_says_so(~std::size_t{0})) {
        std::puts("an array without memory was made");
        return 1;
    }
    environment in = public_calls::in_folder(argv[1]);
    // Memory that this process has used and let go of would be there for the calls.
    if (answer_of_child([&] { return public_calls::write_files(in) ? 0 : 1; }) != 0) {
        return 1;
    }
    bool is_fine = true;
    std::size_t least_values = std::size(public_calls::all);
    std::size_t most_values = 0;
    for (const std::size_t kib : {0u, 16u, 64u, 200u, 512u, 1100u, 2300u, 4500u, 9000u, 18000u, 40000u, 80000u, 300000u}) {
        std::size_t values = 0;
        for (const named_call& call : public_calls::all) {
            const int answer = answer_of_child([&] { return under_limit(call, in, kib * 1024); });
            values += answer == value;
            if (answer != value && answer != lacks_memory) {
                std::printf("%s with %zu KiB more: %d\n", call.name, kib, answer);
                is_fine = false;
            }
        }
        std::printf("%zu KiB: %zu of %zu calls gave a value\n", kib, values, std::size(public_calls::all));
        least_values = std::min(least_values, values);
        most_values = std::max(most_values, values);
    }
    // Else the limits were none, or nothing could be done at all.
    const bool is_scarce =
        least_values < std::size(public_calls::all) / 2 && most_values == std::size(public_calls::all);
    return is_fine && is_scarce ? 0 : 1;
}
