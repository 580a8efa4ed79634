// SPDX-License-Identifier: MIT
#include "fuzz/cbor_tree.hpp"

#include <algorithm>

namespace fuzzing {
namespace {

constexpr std::size_t most_levels = 80; // beyond the library's limit, so that it is met
constexpr char stop = '\xff';

class parser {
public:
    explicit parser(std::string_view encoded) : rest_(encoded) {}

    bool read(item& into, std::size_t level) {
        if (level > most_levels || rest_.empty()) {
            return false;
        }
        const auto first = static_cast<unsigned char>(rest_[0]);
        rest_.remove_prefix(1);
        into.kind = static_cast<kind>(first >> 5);
        const unsigned info = first & 31;
        into.is_indefinite = info == 31;
        if (info >= 28 && (info != 31 || into.kind < kind::bytes || into.kind > kind::map)) {
            return false;
        }
        into.argument = info;
        if (info >= 24 && info < 28) {
            into.argument_bytes = std::size_t{1} << (info - 24);
            if (!read_argument(into)) {
                return false;
            }
        }
        switch (into.kind) {
        case kind::bytes:
        case kind::text:
            return read_string(into);
        case kind::array:
        case kind::map:
        case kind::tag:
            return read_children(into, level);
        default:
            return true;
        }
    }

    [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

private:
    bool read_argument(item& into) {
        if (rest_.size() < into.argument_bytes) {
            return false;
        }
        into.argument = 0;
        for (std::size_t i = 0; i < into.argument_bytes; ++i) {
            into.argument = into.argument << 8 | static_cast<unsigned char>(rest_[i]);
        }
        rest_.remove_prefix(into.argument_bytes);
        return true;
    }

    bool read_string(item& into) {
        if (!into.is_indefinite) {
            return take(static_cast<std::size_t>(std::min<std::uint64_t>(into.argument, rest_.size() + 1)),
                        into.content);
        }
        const std::string_view start = rest_;
        item chunk;
        while (!rest_.empty() && rest_[0] != stop) {
            if (!read(chunk, most_levels) || chunk.is_indefinite || chunk.kind != into.kind) {
                return false;
            }
        }
        into.content = start.substr(0, start.size() - rest_.size());
        return take_stop();
    }

    bool read_children(item& into, std::size_t level) {
        if (!into.is_indefinite && into.kind != kind::tag && into.argument > rest_.size()) {
            return false;
        }
        const std::uint64_t count = into.kind == kind::tag   ? 1
                                    : into.kind == kind::map ? 2 * into.argument
                                                             : into.argument;
        while (into.is_indefinite ? !rest_.empty() && rest_[0] != stop : into.children.size() < count) {
            into.children.emplace_back();
            if (!read(into.children.back(), level + 1)) {
                return false;
            }
        }
        return !into.is_indefinite || take_stop();
    }

    bool take(std::size_t size, tree_text& into) {
        if (size > rest_.size()) {
            return false;
        }
        into = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
    }

    bool take_stop() {
        if (rest_.empty()) {
            return false;
        }
        rest_.remove_prefix(1);
        return true;
    }

    std::string_view rest_;
};

void append_head(const item& of, std::uint64_t argument, tree_text& to) {
    const unsigned major = static_cast<unsigned>(of.kind) << 5;
    std::size_t size = of.argument_bytes;
    while (size < 8 && (size == 0 ? argument >= 24 : argument >> (8 * size) != 0)) {
        size = size == 0 ? 1 : 2 * size;
    }
    const unsigned info = size == 0   ? static_cast<unsigned>(argument)
                          : size == 1 ? 24
                          : size == 2 ? 25
                          : size == 4 ? 26
                                      : 27;
    to += static_cast<char>(major | info);
    for (std::size_t i = size; i-- > 0;) {
        to += static_cast<char>(argument >> (8 * i) & 0xff);
    }
}

void append(const item& of, tree_text& to) {
    const std::uint64_t count = of.kind == kind::map     ? of.children.size() / 2
                                : of.kind == kind::array ? of.children.size()
                                                         : of.content.size();
    const bool counts = of.kind >= kind::bytes && of.kind <= kind::map;
    if (of.is_indefinite) {
        to += static_cast<char>(static_cast<unsigned>(of.kind) << 5 | 31U);
    } else {
        append_head(of, counts && of.tells_its_count ? count : of.argument, to);
    }
    to += of.content;
    for (const item& child : of.children) {
        append(child, to);
    }
    if (of.is_indefinite) {
        to += stop;
    }
}

tree_text little_endian(std::uint64_t value) {
    tree_text out;
    for (unsigned i = 0; i < 8; ++i) {
        out += static_cast<char>(value >> (8 * i) & 0xff);
    }
    return out;
}

alignas(std::max_align_t) std::byte item_memory[1 << 20]; // more than an input of 8 KiB makes; else the heap helps out

} // namespace

tree_memory::tree_memory() noexcept
    : items_(item_memory, sizeof(item_memory)), before_(std::pmr::set_default_resource(&items_)) {
}

tree_memory::~tree_memory() {
    std::pmr::set_default_resource(before_);
}

item text_item(std::string_view text) {
    item made;
    made.kind = kind::text;
    made.content = text;
    return made;
}

item number_item(std::uint64_t value) {
    item made;
    made.kind = kind::unsigned_integer;
    made.argument = value;
    return made;
}

std::optional<item> parse_item(std::string_view encoded) {
    parser from(encoded);
    item root;
    if (!from.read(root, 0) || !from.is_at_end()) {
        return std::nullopt;
    }
    return root;
}

tree_text encode(const item& root) {
    tree_text out;
    append(root, out);
    return out;
}

std::optional<container> parse_container(std::string_view file) {
    constexpr std::size_t magic = 8;
    if (file.size() < 2 * magic || file.substr(0, 4) != "ZTEN") {
        return std::nullopt;
    }
    container whole;
    whole.has_footer_magic = file.size() >= 3 * magic && file.substr(file.size() - magic) == file.substr(0, magic);
    const std::size_t index_end = file.size() - (whole.has_footer_magic ? 2 : 1) * magic;
    std::uint64_t index_bytes = 0;
    for (std::size_t i = 8; i-- > 0;) {
        index_bytes = index_bytes << 8 | static_cast<unsigned char>(file[index_end + i]);
    }
    if (index_bytes > index_end - magic) {
        return std::nullopt;
    }
    const std::size_t start = index_end - static_cast<std::size_t>(index_bytes);
    std::optional<item> index = parse_item(file.substr(start, index_end - start));
    if (!index) {
        return std::nullopt;
    }
    whole.front = file.substr(0, start);
    whole.index = *std::move(index);
    return whole;
}

tree_text encode(const container& whole, std::uint64_t index_bytes_error) {
    const tree_text index = encode(whole.index);
    return whole.front + index + little_endian(index.size() + index_bytes_error) +
           (whole.has_footer_magic ? whole.front.substr(0, 8) : tree_text());
}

} // namespace fuzzing
