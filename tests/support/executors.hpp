// SPDX-License-Identifier: MIT
//
// Executors that come late, at once, or never.
#ifndef ZTENSOR_TESTS_SUPPORT_EXECUTORS_HPP
#define ZTENSOR_TESTS_SUPPORT_EXECUTORS_HPP

#include <ztensor/options.hpp>

#include <utility>
#include <vector>

namespace support {

/// Takes tasks, and runs them when it is told to, or never; or takes none.
class late_executor final : public ztensor::executor {
public:
    using task = std::pair<void (*)(void*), void*>;

    [[nodiscard]] bool submit(void (*run)(void*), void* context) noexcept override {
        if (accepts) {
            tasks.emplace_back(run, context);
        }
        return accepts;
    }
    [[nodiscard]] unsigned concurrency() const noexcept override { return 4; }
    void run_all() {
        for (const task& each : std::exchange(tasks, {})) {
            each.first(each.second);
        }
    }

    std::vector<task> tasks;
    bool accepts = true;
};

/// Runs each task before it says that it takes it.
class prompt_executor final : public ztensor::executor {
public:
    [[nodiscard]] bool submit(void (*run)(void*), void* context) noexcept override {
        run(context);
        return true;
    }
    [[nodiscard]] unsigned concurrency() const noexcept override { return 2; }
};

/// Null for the library's own pool; as long as it lives.
class used_executor {
public:
    explicit used_executor(ztensor::executor* mine) { ztensor::use_executor(mine); }
    used_executor(const used_executor&) = delete;
    used_executor& operator=(const used_executor&) = delete;
    ~used_executor() { ztensor::use_executor(nullptr); }
};

} // namespace support

#endif
