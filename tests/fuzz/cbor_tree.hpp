// SPDX-License-Identifier: MIT
//
// A .zt file as a tree that can be edited: what lies before the index, and the index item by item, in any form that
// CBOR allows. Shares no code with the library.
#ifndef ZTENSOR_TESTS_FUZZ_CBOR_TREE_HPP
#define ZTENSOR_TESTS_FUZZ_CBOR_TREE_HPP

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuzzing {

/// While it lives, trees lie one item behind the other in memory that the next one uses again: under a sanitizer that
/// makes them several times as fast as memory of their own. No tree may outlive it. One at a time.
class tree_memory {
public:
    tree_memory() noexcept;
    tree_memory(const tree_memory&) = delete;
    tree_memory& operator=(const tree_memory&) = delete;
    ~tree_memory();

private:
    std::pmr::monotonic_buffer_resource items_;
    std::pmr::memory_resource* before_;
};

/// In the memory of trees, if there is one.
using tree_text = std::pmr::string;

enum class kind : unsigned { unsigned_integer, negative_integer, bytes, text, array, map, tag, simple };

/// One item with all it contains.
struct item {
    fuzzing::kind kind = kind::simple;
    std::size_t argument_bytes = 0; ///< of the head: 0, 1, 2, 4 or 8, where the argument fits
    bool is_indefinite = false;
    bool tells_its_count = true;     ///< else the head of a string or container says `argument`
    std::uint64_t argument = 0;      ///< value, tag, or bits of a float
    tree_text content;               ///< of strings; the chunks of an indefinite one as they are encoded
    std::pmr::vector<item> children; ///< of arrays, of maps (key, value, key, value…) and of a tag
};

[[nodiscard]] item text_item(std::string_view text);
[[nodiscard]] item number_item(std::uint64_t value);

/// The one item that `encoded` is; nothing if it is not well-formed, or deeper than 80.
[[nodiscard]] std::optional<item> parse_item(std::string_view encoded);
[[nodiscard]] tree_text encode(const item& root);

struct container {
    tree_text front; ///< magic, blobs and what lies between
    item index;
    bool has_footer_magic = false;
};

/// Nothing if `file` is no .zt before 2, or its index is no CBOR.
[[nodiscard]] std::optional<container> parse_container(std::string_view file);
/// `index_bytes_error` is added to the size that the footer states.
[[nodiscard]] tree_text encode(const container& whole, std::uint64_t index_bytes_error = 0);

} // namespace fuzzing

#endif
