// SPDX-License-Identifier: MIT
//
// A value or the error that kept us from it, with the interface of C++23's std::expected<T, error>.
#ifndef ZTENSOR_RESULT_HPP
#define ZTENSOR_RESULT_HPP

#include <ztensor/error.hpp>
#include <ztensor/version.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace ztensor {
inline namespace v0 {

/// What result<T>::value() throws: the error itself, in a coat.
class exception : public std::exception {
public:
    explicit exception(ztensor::error why) noexcept : error_(std::move(why)) {}
    [[nodiscard]] const char* what() const noexcept override { return error_.what().c_str(); }
    [[nodiscard]] const ztensor::error& error() const noexcept { return error_; }
    [[nodiscard]] errc code() const noexcept { return error_.code(); }

private:
    ztensor::error error_;
};

namespace detail {

[[noreturn]] inline void raise(const error& why) {
#if ZTENSOR_HAS_EXCEPTIONS
    throw exception(why);
#else
    std::fprintf(stderr, "ztensor: %s\n", why.what().c_str());
    std::abort();
#endif
}

} // namespace detail

/// Either a T or an error. `if (r)` asks which; `*r` and `r->` take the value of one that was asked;
/// `r.value()` takes it or throws ztensor::exception (ends the program where exceptions are off).
///
/// Differs from std::expected in one point, for safety: `value()` and `*` of a temporary return the value itself,
/// not a reference into the dying result, so `for (auto object : open(path).value())` is sound.
template <class T>
class [[nodiscard]] result {
public:
    using value_type = T;
    using error_type = ztensor::error;

    template <class U = T, std::enable_if_t<std::is_convertible_v<U&&, T> &&
                                                !std::is_same_v<std::decay_t<U>, result> &&
                                                !std::is_same_v<std::decay_t<U>, ztensor::error>,
                                            int> = 0>
    result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}
    result(ztensor::error why) : state_(std::in_place_index<1>, std::move(why)) {}

    [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
    [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

    [[nodiscard]] T& operator*() & noexcept { return *std::get_if<0>(&state_); }
    [[nodiscard]] const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
    [[nodiscard]] T operator*() && { return std::move(*std::get_if<0>(&state_)); }
    [[nodiscard]] T* operator->() noexcept { return std::get_if<0>(&state_); }
    [[nodiscard]] const T* operator->() const noexcept { return std::get_if<0>(&state_); }

    T& value() & {
        require();
        return **this;
    }
    const T& value() const& {
        require();
        return **this;
    }
    T value() && {
        require();
        return *std::move(*this);
    }

    [[nodiscard]] const ztensor::error& error() const& noexcept { return *std::get_if<1>(&state_); }
    [[nodiscard]] ztensor::error error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

    template <class U>
    [[nodiscard]] T value_or(U&& fallback) const& {
        return has_value() ? **this : static_cast<T>(std::forward<U>(fallback));
    }
    template <class U>
    [[nodiscard]] T value_or(U&& fallback) && {
        return has_value() ? *std::move(*this) : static_cast<T>(std::forward<U>(fallback));
    }

    /// f(value) → result<U>; an error is passed on.
    template <class F>
    [[nodiscard]] auto and_then(F&& f) const& -> std::decay_t<std::invoke_result_t<F, const T&>> {
        if (!has_value()) {
            return error();
        }
        return std::invoke(std::forward<F>(f), **this);
    }
    template <class F>
    [[nodiscard]] auto and_then(F&& f) && -> std::decay_t<std::invoke_result_t<F, T>> {
        if (!has_value()) {
            return std::move(*this).error();
        }
        return std::invoke(std::forward<F>(f), *std::move(*this));
    }
    /// f(value) → U, wrapped again; an error is passed on.
    template <class F>
    [[nodiscard]] auto transform(F&& f) const& -> result<std::decay_t<std::invoke_result_t<F, const T&>>> {
        if (!has_value()) {
            return error();
        }
        return std::invoke(std::forward<F>(f), **this);
    }
    template <class F>
    [[nodiscard]] auto transform(F&& f) && -> result<std::decay_t<std::invoke_result_t<F, T>>> {
        if (!has_value()) {
            return std::move(*this).error();
        }
        return std::invoke(std::forward<F>(f), *std::move(*this));
    }
    /// f(error) → result<T>; a value is passed on.
    template <class F>
    [[nodiscard]] result or_else(F&& f) && {
        if (has_value()) {
            return std::move(*this);
        }
        return std::invoke(std::forward<F>(f), std::move(*this).error());
    }
    /// f(error) → error; a value is passed on.
    template <class F>
    [[nodiscard]] result transform_error(F&& f) && {
        if (has_value()) {
            return std::move(*this);
        }
        return std::invoke(std::forward<F>(f), std::move(*this).error());
    }

private:
    void require() const {
        if (!has_value()) {
            detail::raise(error());
        }
    }

    std::variant<T, ztensor::error> state_;
};

/// Success, or the error. Default-constructed it is success: `return {};`.
template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void;
    using error_type = ztensor::error;

    result() noexcept = default;
    result(ztensor::error why) : error_(std::move(why)) {}

    [[nodiscard]] bool has_value() const noexcept { return !error_; }
    [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
    void value() const {
        if (error_) {
            detail::raise(*error_);
        }
    }
    [[nodiscard]] const ztensor::error& error() const& noexcept { return *error_; }
    [[nodiscard]] ztensor::error error() && noexcept { return std::move(*error_); }

    /// f() → result<U>; an error is passed on.
    template <class F>
    [[nodiscard]] auto and_then(F&& f) const -> std::decay_t<std::invoke_result_t<F>> {
        if (error_) {
            return *error_;
        }
        return std::invoke(std::forward<F>(f));
    }
    /// f(error) → result<void>; success is passed on.
    template <class F>
    [[nodiscard]] result or_else(F&& f) && {
        return error_ ? result(std::invoke(std::forward<F>(f), std::move(*error_))) : result();
    }
    /// f(error) → error; success is passed on.
    template <class F>
    [[nodiscard]] result transform_error(F&& f) && {
        return std::move(*this).or_else(std::forward<F>(f));
    }

private:
    std::optional<ztensor::error> error_;
};

namespace detail {

/// Runs `call() → result<T>`; where memory runs out inside, that is an error like any other.
template <class Call>
[[nodiscard]] auto guard_memory(Call&& call) -> std::invoke_result_t<Call> {
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return error(errc::out_of_memory, "memory ran out");
    } catch (const std::length_error&) {
        return error(errc::out_of_memory, "a container can't hold that many elements on this host");
    }
#else
    return call();
#endif
}

} // namespace detail

} // namespace v0
} // namespace ztensor

#endif
