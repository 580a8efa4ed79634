// SPDX-License-Identifier: MIT
//
// How errors are made, and caught where memory ran out.
#ifndef ZTENSOR_DETAIL_BASE_FAIL_HPP
#define ZTENSOR_DETAIL_BASE_FAIL_HPP

#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- fail
//
// The one way in which the library words an error, kept apart from the code that finds it.

/// An error with the sentence that `pattern` makes with a piece in the place of each {}. Without memory for it, it is
/// out_of_memory.
[[nodiscard]] ZTENSOR_COLD inline error fail(errc code, const char* pattern,
                                             std::initializer_list<piece> pieces) noexcept {
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        return {code, sentence(pattern, pieces)};
    } catch (...) {                                     // for want of memory
        return {errc::out_of_memory, "memory ran out"}; // so short that it needs none
    }
#else
    return {code, sentence(pattern, pieces)};
#endif
}

[[nodiscard]] ZTENSOR_COLD inline error fail(errc code, const char* sentence) noexcept {
    return fail(code, sentence, {});
}

// -- guard memory
//
// Memory that runs out, as an error like any other. The public face guards each call once; what it calls just throws.

#if ZTENSOR_HAS_EXCEPTIONS
/// The error for the exception that is being handled; what is no want of memory is thrown on.
[[nodiscard]] ZTENSOR_COLD inline error memory_error() {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return {errc::out_of_memory, "memory ran out"};
    } catch (const std::length_error&) {
        return fail(errc::out_of_memory, "a container can't hold that many elements on this host");
    }
}
#endif

/// Runs `call() -> result<T>`; where memory runs out inside, that is an error.
template <class Call>
[[nodiscard]] auto guard_memory(Call&& call) -> std::invoke_result_t<Call> {
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        return call();
    } catch (...) {
        return memory_error();
    }
#else
    return call();
#endif
}

// -- located
//
// Where an error happened.

/// What came of something; an error says in which file, object or component, unless it says so already.
template <class T>
result<T> in_file(result<T> outcome, string_view path) {
    return outcome ? std::move(outcome) : result<T>(std::move(outcome).error().in_file(path));
}
template <class T>
result<T> in_object(result<T> outcome, string_view name) {
    return outcome ? std::move(outcome) : result<T>(std::move(outcome).error().in_object(name));
}
template <class T>
result<T> in_component(result<T> outcome, string_view role) {
    return outcome ? std::move(outcome) : result<T>(std::move(outcome).error().in_component(role));
}

/// Adds to an error in which file, object and component it happened.
[[nodiscard]] inline error located(const component_view& component, error why) noexcept {
    const stored_component at = describe_stored(component);
    return std::move(why).in_component(at.role).in_object(at.object).in_file(at.path);
}

// -- problem list

/// Everything that is wrong, said at once instead of one after the other.
class problem_list {
public:
    static constexpr size_t most_kept = 100;

    void add(error why) {
        ++count_;
        if (kept_.size() < most_kept) {
            kept_.push_back(std::move(why));
        }
    }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] size_t size() const noexcept { return count_; }

    /// The only one; of several the code and kind of the first, and a sentence that begins with `introduction` and
    /// tells the first of them.
    [[nodiscard]] ZTENSOR_COLD error all(string introduction, bool are_of_one_file,
                                         size_t most_told = most_kept) const {
        const error& first = kept_.front();
        if (count_ == 1) {
            return first;
        }
        string text = std::move(introduction);
        const char* separator = " ";
        const size_t told = (std::min)(kept_.size(), most_told);
        for (size_t i = 0; i < told; ++i) {
            const error& each = kept_[i];
            const bool has_path = !are_of_one_file && !each.path().empty();
            text += separator;
            text += has_path ? sentence("{}: ", {in_quotes(each.path())}) : string();
            text += each.object().empty() ? string() : sentence("{}: ", {in_quotes(each.object())});
            text += each.sentence();
            separator = "; ";
        }
        text += count_ > told ? sentence("; and {} more", {count_ - told}) : string();
        error made(first.code(), std::move(text));
        return (first.kind() == error_kind::usage ? std::move(made).by_caller() : std::move(made))
            .in_file(are_of_one_file ? first.path() : string_view());
    }

private:
    vector<error> kept_;
    size_t count_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
