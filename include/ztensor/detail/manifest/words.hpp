// SPDX-License-Identifier: MIT
//
// What the words in a manifest mean in each generation. SPEC.md section 3.2, section 4, section 8.
#ifndef ZTENSOR_DETAIL_MANIFEST_WORDS_HPP
#define ZTENSOR_DETAIL_MANIFEST_WORDS_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/dtype.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Of a version 1.MINOR or 1.MINOR.anything: 1.3 and later count as 1.2, since minor versions only add. Nothing for
/// every other text.
[[nodiscard]] ZTENSOR_COLD inline std::optional<generation> generation_of(std::string_view version) noexcept {
    constexpr std::size_t max_version_bytes = 32;
    const std::string_view minor = version.substr((std::min<std::size_t>)(2, version.size()));
    const std::size_t digits = (std::min)(minor.find_first_not_of("0123456789"), minor.size());
    const bool ends_there = (digits == minor.size() || minor[digits] == '.') && (digits < 2 || minor[0] != '0');
    if (version.size() > max_version_bytes || version.substr(0, 2) != "1." || digits == 0 || !ends_there) {
        return std::nullopt;
    }
    const bool is_before_1_2 = digits == 1 && minor[0] <= '1';
    return is_before_1_2 ? generation::v1_1 : generation::v1_2;
}

/// The words of storage types, each as the number that its characters make.
struct storage_words {
    explicit constexpr storage_words(std::string_view dtype_facts::*name) noexcept {
        for (std::size_t row = 0; row < dtypes.size(); ++row) {
            const std::string_view word = dtypes[row].*name;
            for (std::size_t i = 0; i < word.size(); ++i) { // at most 8: else this is no constant
                numbers[row] |= static_cast<std::uint64_t>(word[i]) << 8 * i;
            }
        }
    }
    std::uint64_t numbers[dtypes.size()] = {};
};
inline constexpr storage_words storage_names(&dtype_facts::name);
inline constexpr storage_words long_storage_names(&dtype_facts::long_name);

/// The storage type of that word. Not find_dtype(), which unrolls into a kilobyte, and compares text.
[[nodiscard]] ZTENSOR_NOINLINE inline known_word<dtype> find_storage(std::string_view word,
                                                                     const storage_words& words) noexcept {
    if (word.empty() || word.size() > sizeof(std::uint64_t) || word.back() == '\0') { // which adds nothing to a number
        return {};
    }
    const std::uint64_t number = load_little(as_bytes(word).data(), word.size());
    for (std::size_t row = 0; row < dtypes.size(); ++row) {
        if (words.numbers[row] == number) {
            return dtypes[row].id;
        }
    }
    return {};
}

/// Stands before the storage type of a component in the index that was made of a foreign header: .zt itself has had no
/// big-endian elements since 0.1.
inline constexpr char big_endian_mark = '>';

/// The component's storage type, and the logical type that some words of 1.1 carry. A component without the word keeps
/// what it has.
ZTENSOR_COLD inline void interpret_dtype(const manifest& index, std::string_view word,
                                         component_record& component) noexcept {
    const generation from = index.generation;
    if (index.is_foreign() && !word.empty() && word[0] == big_endian_mark) {
        component.is_big_endian = true;
        word.remove_prefix(1);
    }
    if (!component.dtype_word.is_present()) {
        return;
    }
    if (from <= generation::v1_0) {
        component.dtype = find_storage(word, long_storage_names);
        return;
    }
    component.dtype = find_storage(word, storage_names);
    if (!component.dtype && from == generation::v1_1) {
        for (std::size_t row = 0; row < logical_types.size(); ++row) {
            if (logical_types[row].name_as_dtype == word && !word.empty()) {
                component.dtype = logical_types[row].storage;
                component.logical_type = static_cast<std::uint8_t>(row);
            }
        }
    }
}

/// The component's logical type. The storage type's own name is none.
ZTENSOR_COLD inline void interpret_type(std::string_view word, std::string_view dtype_word,
                                        component_record& component) noexcept {
    if (!component.type_word.is_present()) {
        return;
    }
    if (const logical_type_facts* const row = find_logical_type(word)) {
        component.logical_type = static_cast<std::uint8_t>(row - logical_types.data());
    } else if (word != dtype_word) {
        component.logical_type = unknown_type;
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
