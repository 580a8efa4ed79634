// SPDX-License-Identifier: MIT
//
// What the two kinds of results share: which types may become one or lend through one, and the steps that follow a
// value or an error.
#ifndef ZTENSOR_DETAIL_BASE_RESULT_STEPS_HPP
#define ZTENSOR_DETAIL_BASE_RESULT_STEPS_HPP

#include <ztensor/error.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

template <class T>
class result;
template <class T>
class span;

namespace detail {

template <class T>
inline constexpr bool is_result_v = false;
template <class T>
inline constexpr bool is_result_v<result<T>> = true;

/// True for std::unexpected<error>, which only C++23 has, and whose header costs more than its name.
template <class U, class = void>
inline constexpr bool lends_error_v = false;
template <class U>
inline constexpr bool lends_error_v<U, std::void_t<decltype(std::declval<U&>().error())>> = true;
template <class U>
inline constexpr bool is_std_unexpected_v = false;
template <template <class> class Unexpected>
inline constexpr bool is_std_unexpected_v<Unexpected<error>> =
    lends_error_v<Unexpected<error>> && !is_result_v<Unexpected<error>>;

/// What is neither a result nor one of the words that make one: perhaps a value.
template <class U>
inline constexpr bool is_of_value_v = !is_result_v<U> && !std::is_same_v<U, error> && !std::is_same_v<U, unexpected> &&
                                      !std::is_same_v<U, std::in_place_t> && !is_std_unexpected_v<U>;

/// True for handles: what they hand out belongs to somebody else (a reader), and lives on when they die. Everything
/// else is taken to lend what is its own.
template <class T>
inline constexpr bool is_handle_v = false;
template <class T>
inline constexpr bool is_handle_v<span<T>> = true;

/// Puts an error back where making a value in its place failed.
class error_keeper {
public:
    explicit error_keeper(error& place) noexcept : place_(&place), kept_(std::move(place)) { place_->~error(); }
    error_keeper(const error_keeper&) = delete;
    error_keeper& operator=(const error_keeper&) = delete;
    ~error_keeper() {
        if (place_ != nullptr) {
            ::new (static_cast<void*>(place_)) error(std::move(kept_));
        }
    }
    void forget() noexcept { place_ = nullptr; }

private:
    error* place_;
    error kept_;
};

/// f(argument), where f may be a pointer to a member as well.
template <class F, class Argument>
decltype(auto) call(F&& f, Argument&& argument) {
    if constexpr (std::is_member_function_pointer_v<std::decay_t<F>>) {
        return (std::forward<Argument>(argument).*f)();
    } else if constexpr (std::is_member_object_pointer_v<std::decay_t<F>>) {
        return std::forward<Argument>(argument).*f;
    } else {
        return std::forward<F>(f)(std::forward<Argument>(argument));
    }
}

/// f(value of r) -> result<U>, or r's error.
template <class Result, class F>
auto and_then(Result&& r, F&& f) {
    using next = std::decay_t<decltype(call(std::forward<F>(f), *std::forward<Result>(r)))>;
    static_assert(is_result_v<next>, "what is given to and_then() returns a result");
    return r.has_value() ? next(call(std::forward<F>(f), *std::forward<Result>(r)))
                         : next(std::forward<Result>(r).error());
}

/// result<U> of f(value of r) -> U, or r's error.
template <class Result, class F>
auto transform(Result&& r, F&& f) {
    using value = std::decay_t<decltype(call(std::forward<F>(f), *std::forward<Result>(r)))>;
    if (!r.has_value()) {
        return result<value>(std::forward<Result>(r).error());
    }
    if constexpr (std::is_void_v<value>) {
        call(std::forward<F>(f), *std::forward<Result>(r));
        return result<value>();
    } else {
        return result<value>(call(std::forward<F>(f), *std::forward<Result>(r)));
    }
}

/// r, or f(error of r) -> result<T>, or an error.
template <class Result, class F>
auto or_else(Result&& r, F&& f) {
    using same = std::decay_t<Result>;
    static_assert(std::is_convertible_v<decltype(call(std::forward<F>(f), std::forward<Result>(r).error())), same>,
                  "what is given to or_else() returns a result of the same type, or an error");
    return r.has_value() ? same(std::forward<Result>(r))
                         : same(call(std::forward<F>(f), std::forward<Result>(r).error()));
}

/// r, or an error again.
template <class Result, class F>
auto transform_error(Result&& r, F&& f) {
    using next = std::decay_t<decltype(call(std::forward<F>(f), std::forward<Result>(r).error()))>;
    static_assert(std::is_same_v<next, error>, "what is given to transform_error() returns a ztensor::error, which is "
                                               "what every result carries");
    return or_else(std::forward<Result>(r), std::forward<F>(f));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
