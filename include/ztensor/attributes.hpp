// SPDX-License-Identifier: MIT
//
// Attributes to be written: a map from text to any CBOR value, at the file and at every object. SPEC.md §3.6.
#ifndef ZTENSOR_ATTRIBUTES_HPP
#define ZTENSOR_ATTRIBUTES_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Attributes to be written: each key with its encoded value, in the order in which they will stand in the file.
class attributes {
public:
    attributes() = default;
    /// A copy of the attributes of an open file, values verbatim.
    explicit attributes(attributes_view source);

    // Each replaces the value of a key that is there already. Keys, and that text is UTF-8, are checked by the writer.

    template <class Integer, std::enable_if_t<detail::is_integer_element_v<Integer>, int> = 0>
    attributes& set(std::string_view key, Integer value) {
        if constexpr (std::is_signed_v<Integer>) {
            return set_integer(key, value);
        } else {
            return set_unsigned_integer(key, value);
        }
    }
    /// Stored in the shortest of 16, 32 and 64 bits that keeps the value.
    attributes& set(std::string_view key, double value);
    attributes& set(std::string_view key, bool value);
    attributes& set(std::string_view key, std::string_view value);
    attributes& set(std::string_view key, const char* value) { return set(key, std::string_view(value)); }
    attributes& set(std::string_view key, bytes_view value);
    attributes& set_null(std::string_view key);
    /// Any one CBOR item, kept verbatim. Errors: the cbor_… codes if it is not well-formed, cbor_trailing if bytes
    /// follow it; out_of_memory.
    [[nodiscard]] result<void> set_cbor(std::string_view key, bytes_view item);
    attributes& remove(std::string_view key);
    /// All of `others` too; of a key that is there already the value is replaced.
    attributes& merge(attributes others);

    [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

    /// One key and its value, encoded.
    struct entry {
        std::string key;
        std::vector<std::byte> cbor;
        bool is_utf8 = true; ///< false for text that was set and is not UTF-8: no writer takes it
    };
    /// Sorted bytewise by their keys.
    [[nodiscard]] const std::vector<entry>& values() const& noexcept { return values_; }
    const std::vector<entry>& values() const&& = delete; // borrowing from attributes that are about to die

private:
    attributes& set_integer(std::string_view key, std::int64_t value);
    attributes& set_unsigned_integer(std::string_view key, std::uint64_t value);
    attributes& put(std::string_view key, std::vector<std::byte> cbor, bool is_utf8 = true);
    /// Where the key stands, or where it would.
    [[nodiscard]] std::size_t place_of(std::string_view key) const noexcept;

    std::vector<entry> values_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/cbor/attributes_definitions.hpp>
#endif

#endif
