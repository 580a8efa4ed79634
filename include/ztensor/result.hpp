// SPDX-License-Identifier: MIT
//
// A value or an error, with the interface of C++23's std::expected<T, error>.
#ifndef ZTENSOR_RESULT_HPP
#define ZTENSOR_RESULT_HPP

#include <ztensor/error.hpp>
#include <ztensor/version.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

// -- what the two kinds of results share

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

/// True for handles: what they return belongs to another object (a reader) and outlives them. Every other type is taken
/// to own what it returns.
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

// -- result

/// What result<T>::value() throws: holds the error.
class exception : public std::exception {
public:
    explicit exception(ztensor::error why) noexcept : error_(std::move(why)) {}
    [[nodiscard]] const char* what() const noexcept override { return error_.what().c_str(); }
    [[nodiscard]] const ztensor::error& error() const& noexcept { return error_; }
    [[nodiscard]] ztensor::error error() const&& noexcept { return error_; }
    [[nodiscard]] errc code() const noexcept { return error_.code(); }

private:
    ztensor::error error_;
};

namespace detail {

/// Throws exception(why), or says why and ends the program where exceptions are off.
[[noreturn]] ZTENSOR_COLD inline void raise(const error& why) {
#if ZTENSOR_HAS_EXCEPTIONS
    throw exception(why);
#else
    std::fprintf(stderr, "ztensor: %s\n", why.what().c_str());
    std::abort();
#endif
}

/// Says that a result was asked for what it does not hold, which is a value where it holds `held`, and ends the
/// program.
[[noreturn]] ZTENSOR_COLD inline void result_misused(const error* held) noexcept {
    if (held != nullptr) {
        std::fprintf(stderr, "ztensor: the value of a result was taken, and it holds an error: %s\n",
                     held->what().c_str());
    } else {
        std::fputs("ztensor: the error of a result was taken, and it holds none\n", stderr);
    }
    std::abort();
}

inline void expect([[maybe_unused]] bool is_there, [[maybe_unused]] const error* held) noexcept {
#if !defined(NDEBUG)
    if (!is_there) {
        result_misused(held);
    }
#endif
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
    using unexpected_type = ztensor::unexpected;
    /// The same with a value of another type.
    template <class U>
    using rebind = result<U>;

    /// T's default value.
    template <class U = T, std::enable_if_t<std::is_default_constructible_v<U>, int> = 0>
    result() : value_(), has_value_(true) {}
    template <class U = T,
              std::enable_if_t<detail::is_of_value_v<std::decay_t<U>> && std::is_convertible_v<U&&, T>, int> = 0>
    result(U&& value) : value_(std::forward<U>(value)), has_value_(true) {}
    template <class U = T, std::enable_if_t<detail::is_of_value_v<std::decay_t<U>> && !std::is_convertible_v<U&&, T> &&
                                                std::is_constructible_v<T, U&&>,
                                            int> = 0>
    explicit result(U&& value) : value_(std::forward<U>(value)), has_value_(true) {}
    result(ztensor::error why) noexcept : error_(std::move(why)), has_value_(false) {}
    result(unexpected why) noexcept : result(std::move(why).error()) {}
    /// From C++23's std::unexpected<ztensor::error>.
    template <class U, std::enable_if_t<detail::is_std_unexpected_v<std::decay_t<U>>, int> = 0>
    result(U&& why) noexcept : result(ztensor::error(std::forward<U>(why).error())) {}
    /// An error made in place of `from`, such as a code and a sentence.
    template <class... From, std::enable_if_t<std::is_constructible_v<ztensor::error, From&&...>, int> = 0>
    explicit result(unexpect_t, From&&... from) : result(ztensor::error(std::forward<From>(from)...)) {}
    /// From the result of another type that converts to T.
    template <class U, std::enable_if_t<!std::is_same_v<U, T> && std::is_convertible_v<U&&, T>, int> = 0>
    result(result<U> other) : has_value_(other.has_value()) {
        has_value_ ? construct(*std::move(other)) : construct_error(std::move(other).error());
    }
    template <class U, std::enable_if_t<!std::is_convertible_v<U&&, T> && std::is_constructible_v<T, U&&>, int> = 0>
    explicit result(result<U> other) : has_value_(other.has_value()) {
        has_value_ ? construct(*std::move(other)) : construct_error(std::move(other).error());
    }

    /// A T made in place of `from`.
    template <class... From, std::enable_if_t<std::is_constructible_v<T, From&&...>, int> = 0>
    explicit result(std::in_place_t, From&&... from) : value_(std::forward<From>(from)...), has_value_(true) {}
    template <class U, class... From,
              std::enable_if_t<std::is_constructible_v<T, std::initializer_list<U>&, From&&...>, int> = 0>
    explicit result(std::in_place_t, std::initializer_list<U> list, From&&... from)
        : value_(list, std::forward<From>(from)...), has_value_(true) {}

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
    result& operator=(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
        if (this == &other) {
            return *this;
        }
        if constexpr (!std::is_nothrow_move_constructible_v<T>) { // one that fails leaves what was there
            if (other.has_value_) {
                has_value_ ? static_cast<void>(value_ = std::move(other.value_)) : replace_error(other.value_);
                return *this;
            }
        }
        destroy();
        has_value_ = other.has_value_;
        has_value_ ? construct(std::move(other.value_)) : construct_error(std::move(other.error_));
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
    template <class U, class... From>
    T& emplace(std::initializer_list<U> list, From&&... from) noexcept {
        static_assert(std::is_nothrow_constructible_v<T, std::initializer_list<U>&, From&&...>,
                      "an emplacement that fails would leave nothing");
        return *this = result(std::in_place, list, std::forward<From>(from)...), value_;
    }
    void swap(result& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
        result kept = std::move(*this);
        *this = std::move(other);
        other = std::move(kept);
    }
    friend void swap(result& a, result& b) noexcept(std::is_nothrow_move_constructible_v<T>) { a.swap(b); }

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

    template <class U = T>
    [[nodiscard]] T value_or(U&& fallback) const& {
        return has_value_ ? value_ : static_cast<T>(std::forward<U>(fallback));
    }
    template <class U = T>
    [[nodiscard]] T value_or(U&& fallback) && {
        return has_value_ ? std::move(value_) : static_cast<T>(std::forward<U>(fallback));
    }
    [[nodiscard]] ztensor::error error_or(ztensor::error fallback) const {
        return has_value_ ? std::move(fallback) : error_;
    }

    /// f(value) -> result<U>; an error is passed on.
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
    /// f(value) -> U or nothing, wrapped again; an error is passed on.
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
    /// f(error) -> result<T>; a value is passed on.
    template <class F>
    [[nodiscard]] result or_else(F&& f) & {
        return detail::or_else(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result or_else(F&& f) const& {
        return detail::or_else(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result or_else(F&& f) && {
        return detail::or_else(std::move(*this), std::forward<F>(f));
    }
    /// f(error) -> error; a value is passed on.
    template <class F>
    [[nodiscard]] result transform_error(F&& f) & {
        return detail::transform_error(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result transform_error(F&& f) const& {
        return detail::transform_error(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result transform_error(F&& f) && {
        return detail::transform_error(std::move(*this), std::forward<F>(f));
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
    /// An error that equals that of `b`.
    friend bool operator==(const result& a, const unexpected& b) noexcept {
        return !a.has_value() && a.error() == b.error();
    }
    friend bool operator!=(const result& a, const unexpected& b) noexcept { return !(a == b); }
    /// A value that equals `b`.
    template <class U, std::enable_if_t<detail::is_of_value_v<U>, int> = 0>
    friend bool operator==(const result& a, const U& b) {
        return a.has_value() && *a == b;
    }
    template <class U, std::enable_if_t<detail::is_of_value_v<U>, int> = 0>
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
    void replace_error(T& value) {
        detail::error_keeper kept(error_);
        construct(std::move(value));
        kept.forget();
        has_value_ = true;
    }
    void destroy() noexcept {
        if (has_value_) {
            value_.~T();
        } else {
            error_.~error();
        }
    }
    void expect() const noexcept { detail::expect(has_value_, &error_); }
    void expect_error() const noexcept { detail::expect(!has_value_, nullptr); }
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
    using unexpected_type = ztensor::unexpected;
    /// The same with a value of another type.
    template <class U>
    using rebind = result<U>;

    result() noexcept : error_(nullptr) {}
    result(ztensor::error why) noexcept : error_(std::move(why)) {}
    result(unexpected why) noexcept : error_(std::move(why).error()) {}
    template <class U, std::enable_if_t<detail::is_std_unexpected_v<std::decay_t<U>>, int> = 0>
    result(U&& why) noexcept : error_(std::forward<U>(why).error()) {}
    template <class... From, std::enable_if_t<std::is_constructible_v<ztensor::error, From&&...>, int> = 0>
    explicit result(unexpect_t, From&&... from) : error_(std::forward<From>(from)...) {}
    explicit result(std::in_place_t) noexcept : result() {}

    /// Success in place of what there was.
    void emplace() noexcept { *this = result(); }
    void swap(result& other) noexcept { std::swap(error_, other.error_); }
    friend void swap(result& a, result& b) noexcept { a.swap(b); }

    [[nodiscard]] bool has_value() const noexcept { return error_.details_ == nullptr; }
    [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
    void operator*() const noexcept { detail::expect(has_value(), &error_); }
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

    /// f() -> result<U>; an error is passed on.
    template <class F>
    [[nodiscard]] auto and_then(F&& f) const {
        using next = std::decay_t<decltype(std::forward<F>(f)())>;
        static_assert(detail::is_result_v<next>, "what is given to and_then() returns a result");
        return has_value() ? next(std::forward<F>(f)()) : next(error_);
    }
    /// f() -> U or nothing, wrapped; an error is passed on.
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
    /// f(error) -> result<void>; success is passed on.
    template <class F>
    [[nodiscard]] result or_else(F&& f) & {
        return detail::or_else(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result or_else(F&& f) const& {
        return detail::or_else(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result or_else(F&& f) && {
        return detail::or_else(std::move(*this), std::forward<F>(f));
    }
    /// f(error) -> error; success is passed on.
    template <class F>
    [[nodiscard]] result transform_error(F&& f) & {
        return detail::transform_error(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result transform_error(F&& f) const& {
        return detail::transform_error(*this, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] result transform_error(F&& f) && {
        return detail::transform_error(std::move(*this), std::forward<F>(f));
    }

    friend bool operator==(const result& a, const result& b) noexcept {
        return a.has_value() == b.has_value() && (a.has_value() || a.error_ == b.error_);
    }
    friend bool operator!=(const result& a, const result& b) noexcept { return !(a == b); }
    friend bool operator==(const result& a, const unexpected& b) noexcept {
        return !a.has_value() && a.error_ == b.error();
    }
    friend bool operator!=(const result& a, const unexpected& b) noexcept { return !(a == b); }

private:
    void expect_error() const noexcept { detail::expect(!has_value(), nullptr); }

    ztensor::error error_; ///< without details where all went well
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
