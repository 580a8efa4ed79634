// SPDX-License-Identifier: MIT
//
// The path of a file, taken from whatever the caller has. Keeps <filesystem> out of the headers that need one: that
// header alone takes as long to compile as half of this library.
#ifndef ZTENSOR_FILE_PATH_HPP
#define ZTENSOR_FILE_PATH_HPP

#include <ztensor/detail/base/text.hpp>
#include <ztensor/version.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// As the system spells paths: bytes, or on Windows UTF-16.
#if defined(_WIN32)
using native_path = std::wstring;
#else
using native_path = std::string;
#endif

/// True for std::filesystem::path and what is built like it.
template <class Path, class = void>
inline constexpr bool has_native_v = false;
template <class Path>
inline constexpr bool has_native_v<
    Path, std::enable_if_t<std::is_convertible_v<decltype(std::declval<const Path&>().native()), native_path>>> = true;

/// True for std::filesystem::directory_entry.
template <class Entry, class = void>
inline constexpr bool has_path_v = false;
template <class Entry>
inline constexpr bool has_path_v<
    Entry,
    std::enable_if_t<std::is_convertible_v<decltype(std::declval<const Entry&>().path().native()), native_path>>> =
    true;

} // namespace detail

/// A path, from text (on Windows UTF-8), std::filesystem::path or std::filesystem::directory_entry, which it borrows: a
/// parameter type, so that taking one can't fail.
class file_path {
public:
    file_path(const char* text) noexcept : text_(text) {}
    file_path(std::string_view text) noexcept : text_(text) {}
    file_path(const std::string& text) noexcept : text_(text) {}
    template <class Path, std::enable_if_t<detail::has_native_v<Path>, int> = 0>
    file_path(const Path& path) noexcept {
        borrow(path.native());
    }
    template <class Entry, std::enable_if_t<detail::has_path_v<Entry>, char> = 0>
    file_path(const Entry& entry) noexcept {
        borrow(entry.path().native());
    }
#if defined(_WIN32)
    file_path(const wchar_t* text) noexcept : wide_(text), is_wide_(true) {
    }
    file_path(const std::wstring& text) noexcept : wide_(text), is_wide_(true) {
    }
#endif

    /// As the system spells it. Throws std::bad_alloc.
    [[nodiscard]] detail::native_path native() const {
#if defined(_WIN32)
        return is_wide_ ? detail::native_path(wide_) : detail::utf16_of<detail::native_path>(text_);
#else
        return detail::native_path(text_);
#endif
    }

private:
#if defined(_WIN32)
    void borrow(const std::wstring& native) noexcept {
        wide_ = native;
        is_wide_ = true;
    }

    std::wstring_view wide_;
    bool is_wide_ = false;
#else
    void borrow(const std::string& native) noexcept {
        text_ = native;
    }
#endif
    std::string_view text_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
