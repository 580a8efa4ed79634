// SPDX-License-Identifier: MIT
//
// A value or the error that kept us from it, with the interface of C++23's std::expected<T, error>.
#ifndef ZTENSOR_RESULT_HPP
#define ZTENSOR_RESULT_HPP

#include <ztensor/error.hpp>
#include <ztensor/version.hpp>

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

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

template <class T>
class result;
template <class T>
class span;

namespace detail {

/// True for handles: what they hand out belongs to somebody else (a reader), and lives on when they die. Everything
/// else is taken to lend what is its own.
template <class T>
inline constexpr bool is_handle_v = false;
template <class T>
inline constexpr bool is_handle_v<span<T>> = true;

/// Throws exception(why), or says why and ends the program where exceptions are off.
[[noreturn]] void raise(const error& why);

/// Says that a result was asked for what it does not hold, and ends the program.
[[noreturn]] void result_misused() noexcept;

inline void expect([[maybe_unused]] bool is_there) noexcept {
#if !defined(NDEBUG)
    if (!is_there) {
        result_misused();
    }
#endif
}

template <class T>
inline constexpr bool is_result_v = false;
template <class T>
inline constexpr bool is_result_v<result<T>> = true;

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

/// f(value of r) → result<U>, or r's error.
template <class Result, class F>
auto and_then(Result&& r, F&& f) {
    using next = std::decay_t<decltype(call(std::forward<F>(f), *std::forward<Result>(r)))>;
    static_assert(is_result_v<next>, "what is given to and_then() returns a result");
    return r.has_value() ? next(call(std::forward<F>(f), *std::forward<Result>(r)))
                         : next(std::forward<Result>(r).error());
}

/// result<U> of f(value of r) → U, or r's error.
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

/// r, or f(error of r) → result<T> or error.
template <class Result, class F>
auto or_else(Result&& r, F&& f) {
    using same = std::decay_t<Result>;
    return r.has_value() ? same(std::forward<Result>(r))
                         : same(call(std::forward<F>(f), std::forward<Result>(r).error()));
}

} // namespace detail

/// Either a T or an error. `if (r)` asks which; `*r` and `r->` take the value of one that was asked;
/// `r.value()` takes it or throws ztensor::exception (ends the program where exceptions are off).
///
/// Differs from std::expected in two points, for safety. `value()` and `*` of a temporary return the value itself,
/// not a reference into the dying result, so `for (auto object : open(path).value())` is sound. And `->` on a temporary
/// does not compile, unless the value is a handle (object_view, component_view, attributes_view, span): what
/// `open(path)->find(name)` gives would belong to a reader that is gone.
template <class T>
class [[nodiscard]] result {
public:
    using value_type = T;
    using error_type = ztensor::error;
    /// The same with a value of another type.
    template <class U>
    using rebind = result<U>;

    /// T's default value.
    template <class U = T, std::enable_if_t<std::is_default_constructible_v<U>, int> = 0>
    result() : value_(), has_value_(true) {}
    template <class U = T,
              std::enable_if_t<!detail::is_result_v<std::decay_t<U>> &&
                                   !std::is_same_v<std::decay_t<U>, ztensor::error> && std::is_convertible_v<U&&, T>,
                               int> = 0>
    result(U&& value) : value_(std::forward<U>(value)), has_value_(true) {}
    result(ztensor::error why) noexcept : error_(std::move(why)), has_value_(false) {}
    /// From the result of another type that converts to T.
    template <class U, std::enable_if_t<!std::is_same_v<U, T> && std::is_convertible_v<U&&, T>, int> = 0>
    result(result<U> other) : has_value_(other.has_value()) {
        has_value_ ? construct(*std::move(other)) : construct_error(std::move(other).error());
    }

    /// A T made in place of `from`.
    template <class... From, std::enable_if_t<std::is_constructible_v<T, From&&...>, int> = 0>
    explicit result(std::in_place_t, From&&... from) : value_(std::forward<From>(from)...), has_value_(true) {}

    result(const result& other) : has_value_(other.has_value_) {
        has_value_ ? construct(other.value_) : construct_error(other.error_);
    }
    result(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : has_value_(other.has_value_) {
        has_value_ ? construct(std::move(other.value_)) : construct_error(std::move(other.error_));
    }
    result& operator=(const result& other) {
        if (this != &other) {
            *this = result(other);
        }
        return *this;
    }
    result& operator=(result&& other) noexcept {
        static_assert(std::is_nothrow_move_constructible_v<T>, "an assignment that fails half-way would leave nothing");
        if (this != &other) {
            destroy();
            has_value_ = other.has_value_;
            has_value_ ? construct(std::move(other.value_)) : construct_error(std::move(other.error_));
        }
        return *this;
    }
    ~result() { destroy(); }

    /// A new value in place of what there was.
    template <class... From>
    T& emplace(From&&... from) noexcept {
        static_assert(std::is_nothrow_constructible_v<T, From&&...>, "an emplacement that fails would leave nothing");
        destroy();
        has_value_ = true;
        construct(std::forward<From>(from)...);
        return value_;
    }
    friend void swap(result& a, result& b) noexcept {
        result kept = std::move(a);
        a = std::move(b);
        b = std::move(kept);
    }

    [[nodiscard]] bool has_value() const noexcept { return has_value_; }
    [[nodiscard]] explicit operator bool() const noexcept { return has_value_; }

    // Taking what is not there is a mistake that ends the program, unless NDEBUG is defined.
    [[nodiscard]] T& operator*() & noexcept { return expect(), value_; }
    [[nodiscard]] const T& operator*() const& noexcept { return expect(), value_; }
    [[nodiscard]] T operator*() && { return expect(), std::move(value_); }
    [[nodiscard]] T operator*() const&& { return expect(), value_; }
    [[nodiscard]] T* operator->() & noexcept { return expect(), &value_; }
    [[nodiscard]] const T* operator->() const& noexcept { return expect(), &value_; }
    template <class Handle = T>
    [[nodiscard]] const Handle* operator->() const&& noexcept {
        static_assert(detail::is_handle_v<Handle>,
                      "this result is a temporary, and what -> lends would die with it: keep the result in a variable");
        return expect(), &value_;
    }

    T& value() & {
        require();
        return value_;
    }
    const T& value() const& {
        require();
        return value_;
    }
    T value() && {
        require();
        return std::move(value_);
    }
    T value() const&& {
        require();
        return value_;
    }

    [[nodiscard]] const ztensor::error& error() const& noexcept { return expect_error(), error_; }
    [[nodiscard]] ztensor::error& error() & noexcept { return expect_error(), error_; }
    [[nodiscard]] ztensor::error error() && noexcept { return expect_error(), std::move(error_); }
    [[nodiscard]] ztensor::error error() const&& noexcept { return expect_error(), error_; }

    template <class U>
    [[nodiscard]] T value_or(U&& fallback) const& {
        return has_value_ ? value_ : static_cast<T>(std::forward<U>(fallback));
    }
    template <class U>
    [[nodiscard]] T value_or(U&& fallback) && {
        return has_value_ ? std::move(value_) : static_cast<T>(std::forward<U>(fallback));
    }
    [[nodiscard]] ztensor::error error_or(ztensor::error fallback) const {
        return has_value_ ? std::move(fallback) : error_;
    }

    /// f(value) → result<U>; an error is passed on.
    template <class F>
    [[nodiscard]] auto and_then(F&& f) & {
        return detail::and_then(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] auto and_then(F&& f) const& {
        return detail::and_then(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] auto and_then(F&& f) && {
        return detail::and_then(std::move(*this), std::forward<F>(f));
    }
    /// f(value) → U or nothing, wrapped again; an error is passed on.
    template <class F>
    [[nodiscard]] auto transform(F&& f) & {
        return detail::transform(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] auto transform(F&& f) const& {
        return detail::transform(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] auto transform(F&& f) && {
        return detail::transform(std::move(*this), std::forward<F>(f));
    }
    /// f(error) → result<T>; a value is passed on.
    template <class F>
    [[nodiscard]] result or_else(F&& f) const& {
        return detail::or_else(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result or_else(F&& f) && {
        return detail::or_else(std::move(*this), std::forward<F>(f));
    }
    /// f(error) → error; a value is passed on.
    template <class F>
    [[nodiscard]] result transform_error(F&& f) const& {
        return detail::or_else(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result transform_error(F&& f) && {
        return detail::or_else(std::move(*this), std::forward<F>(f));
    }

    /// Both hold equal values, or equal errors.
    template <class U>
    friend bool operator==(const result& a, const result<U>& b) {
        return a.has_value() == b.has_value() && (a.has_value() ? *a == *b : a.error() == b.error());
    }
    template <class U>
    friend bool operator!=(const result& a, const result<U>& b) {
        return !(a == b);
    }
    /// A value that equals `b`.
    template <class U, std::enable_if_t<!detail::is_result_v<U>, int> = 0>
    friend bool operator==(const result& a, const U& b) {
        return a.has_value() && *a == b;
    }
    template <class U, std::enable_if_t<!detail::is_result_v<U>, int> = 0>
    friend bool operator!=(const result& a, const U& b) {
        return !(a == b);
    }

private:
    template <class... From>
    void construct(From&&... from) {
        ::new (static_cast<void*>(&value_)) T(std::forward<From>(from)...);
    }
    void construct_error(ztensor::error why) noexcept {
        ::new (static_cast<void*>(&error_)) ztensor::error(std::move(why));
    }
    void destroy() noexcept {
        if (has_value_) {
            value_.~T();
        } else {
            error_.~error();
        }
    }
    void expect() const noexcept { detail::expect(has_value_); }
    void expect_error() const noexcept { detail::expect(!has_value_); }
    void require() const {
        if (!has_value_) {
            detail::raise(error_);
        }
    }

    union {
        T value_;
        ztensor::error error_;
    };
    bool has_value_;
};

/// Success, or the error. Default-constructed it is success: `return {};`.
template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void;
    using error_type = ztensor::error;
    /// The same with a value of another type.
    template <class U>
    using rebind = result<U>;

    result() noexcept : error_(nullptr) {}
    result(ztensor::error why) noexcept : error_(std::move(why)) {}

    /// Success in place of what there was.
    void emplace() noexcept { *this = result(); }
    friend void swap(result& a, result& b) noexcept { std::swap(a.error_, b.error_); }

    [[nodiscard]] bool has_value() const noexcept { return error_.details_ == nullptr; }
    [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
    void operator*() const noexcept { detail::expect(has_value()); }
    void value() const {
        if (!has_value()) {
            detail::raise(error_);
        }
    }

    [[nodiscard]] const ztensor::error& error() const& noexcept { return expect_error(), error_; }
    [[nodiscard]] ztensor::error& error() & noexcept { return expect_error(), error_; }
    [[nodiscard]] ztensor::error error() && noexcept { return expect_error(), std::move(error_); }
    [[nodiscard]] ztensor::error error() const&& noexcept { return expect_error(), error_; }
    [[nodiscard]] ztensor::error error_or(ztensor::error fallback) const {
        return has_value() ? std::move(fallback) : error_;
    }

    /// f() → result<U>; an error is passed on.
    template <class F>
    [[nodiscard]] auto and_then(F&& f) const {
        using next = std::decay_t<decltype(std::forward<F>(f)())>;
        static_assert(detail::is_result_v<next>, "what is given to and_then() returns a result");
        return has_value() ? next(std::forward<F>(f)()) : next(error_);
    }
    /// f() → U or nothing, wrapped; an error is passed on.
    template <class F>
    [[nodiscard]] auto transform(F&& f) const {
        using value = std::decay_t<decltype(std::forward<F>(f)())>;
        if (!has_value()) {
            return result<value>(error_);
        }
        if constexpr (std::is_void_v<value>) {
            std::forward<F>(f)();
            return result<value>();
        } else {
            return result<value>(std::forward<F>(f)());
        }
    }
    /// f(error) → result<void>; success is passed on.
    template <class F>
    [[nodiscard]] result or_else(F&& f) const& {
        return detail::or_else(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result or_else(F&& f) && {
        return detail::or_else(std::move(*this), std::forward<F>(f));
    }
    /// f(error) → error; success is passed on.
    template <class F>
    [[nodiscard]] result transform_error(F&& f) const& {
        return detail::or_else(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result transform_error(F&& f) && {
        return detail::or_else(std::move(*this), std::forward<F>(f));
    }

    friend bool operator==(const result& a, const result& b) noexcept {
        return a.has_value() == b.has_value() && (a.has_value() || a.error_ == b.error_);
    }
    friend bool operator!=(const result& a, const result& b) noexcept { return !(a == b); }

private:
    void expect_error() const noexcept { detail::expect(!has_value()); }

    ztensor::error error_; ///< without details where all went well
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/core/result_definitions.hpp>
#endif

#endif
