// SPDX-License-Identifier: MIT
//
// Loaded into nginx by url_plan.py: each connection that it accepts sends at most PACED_BYTES_PER_SECOND, evenly. (Its
// own limit_rate counts in whole seconds.)
#include <dlfcn.h>
#include <sys/socket.h>

#include <cstdlib>

extern "C" int accept4(int listening, sockaddr* address, socklen_t* length, int flags) {
    using accept_call = int (*)(int, sockaddr*, socklen_t*, int);
    static const auto system_accept = reinterpret_cast<accept_call>(::dlsym(RTLD_NEXT, "accept4"));
    const int connection = system_accept(listening, address, length, flags);
    if (const char* const rate = std::getenv("PACED_BYTES_PER_SECOND"); connection >= 0 && rate != nullptr) {
        const auto bytes_per_second = static_cast<unsigned>(std::strtoul(rate, nullptr, 10));
        ::setsockopt(connection, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_second, sizeof bytes_per_second);
    }
    return connection;
}
