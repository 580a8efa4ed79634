// SPDX-License-Identifier: MIT
//
// How a plan is carried out, what it tells meanwhile, and what it did.
#ifndef ZTENSOR_LOAD_OPTIONS_HPP
#define ZTENSOR_LOAD_OPTIONS_HPP

#include <ztensor/version.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// How far a plan is.
struct load_progress {
    std::uint64_t bytes_done = 0;  ///< decoded, and in their place
    std::uint64_t bytes_total = 0; ///< of the whole plan
    std::string_view name;         ///< of the tensor that was worked on last; "" at the end
};

/// A function or callable object: bool(const load_progress&), where false cancels. Owned, as by std::function: copies
/// share the object.
class progress_function {
public:
    progress_function() noexcept = default;
    progress_function(bool (*function)(const load_progress&)) {
        if (function != nullptr) {
            own(function);
        }
    }
    template <class Callable,
              std::enable_if_t<std::is_class_v<std::remove_reference_t<Callable>> &&
                                   !std::is_base_of_v<progress_function, std::decay_t<Callable>> &&
                                   std::is_invocable_r_v<bool, std::decay_t<Callable>&, const load_progress&>,
                               int> = 0>
    progress_function(Callable&& callable) {
        own(std::forward<Callable>(callable));
    }

    [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
    [[nodiscard]] bool operator()(const load_progress& now) const { return call_(object_.get(), now); }

private:
    template <class Callable>
    void own(Callable&& callable) {
        using owned = std::decay_t<Callable>;
        object_ = std::make_shared<owned>(std::forward<Callable>(callable));
        call_ = [](void* object, const load_progress& now) {
            return static_cast<bool>((*static_cast<owned*>(object))(now));
        };
    }

    std::shared_ptr<void> object_;
    bool (*call_)(void* object, const load_progress& now) = nullptr;
};

/// Options of load_plan::run() and read_all().
struct load_options {
    unsigned threads_ = 0;
    progress_function progress_;
    std::uint64_t max_staging_bytes_ = ~std::uint64_t{0};

    /// Threads that read and decode, the caller's included; 0, as many as the host runs at once. With 1 none is
    /// started. Fast disks and network stores take more than there are processors.
    load_options& threads(unsigned value) noexcept { return threads_ = value, *this; }
    /// Called on the thread that runs the plan and on no other, each time that it has brought some bytes to their place
    /// (with what all threads have done), and once at the end of a plan that is carried out. Returns false to cancel;
    /// at the end its answer makes no difference. May throw, which ends the plan.
    load_options& progress(progress_function value) noexcept { return progress_ = std::move(value), *this; }
    /// Bytes that all threads together hold besides the destinations: small tensors that are read at once, blocks that
    /// are converted, and compressed frames, one or two for each thread. Unless set, as many as that takes. A frame
    /// that does not fit a thread's half share is limit_exceeded; below 1 MiB a thread fewer threads work. Not counted
    /// are frames of which only a part is wanted, and compressed elements to be converted to narrower numbers.
    load_options& max_staging_bytes(std::uint64_t value) noexcept { return max_staging_bytes_ = value, *this; }
};

/// What a plan did.
struct load_report {
    std::uint64_t bytes_read = 0;    ///< of the file, gaps between small neighbours included
    std::uint64_t bytes_decoded = 0; ///< as they are stored, before conversion
    double seconds = 0;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
