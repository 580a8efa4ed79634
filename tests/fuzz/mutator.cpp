// SPDX-License-Identifier: MIT
//
// Changes an input as somebody would who knows the format: edits the index as a tree, then makes lengths, footer and
// digests right again (mostly), so that what is changed is reached. Bytes are also changed blindly, by libFuzzer.
#include "fuzz/cbor_tree.hpp"
#include "fuzz/fuzzing.hpp"

#include <ztensor/digest.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);
}

namespace fuzzing {
namespace {

constexpr std::string_view words[] = {
    "version",
    "0.1.0",
    "1.0.0",
    "1.1.0",
    "1.2.0",
    "2.0.0",
    "attributes",
    "objects",
    "tensors",
    "shape",
    "format",
    "dtype",
    "type",
    "encoding",
    "components",
    "data",
    "values",
    "indices",
    "indptr",
    "coords",
    "packed_weight",
    "scales",
    "zeros",
    "offset",
    "length",
    "size",
    "uncompressed_length",
    "digest",
    "checksum",
    "raw",
    "zstd",
    "lz4",
    "dense",
    "sparse_csr",
    "sparse_coo",
    "quantized_group",
    "f64",
    "f32",
    "f16",
    "bf16",
    "f8_e4m3fn",
    "f8_e5m2",
    "i64",
    "i32",
    "i16",
    "i8",
    "u64",
    "u32",
    "u16",
    "u8",
    "bool",
    "complex64",
    "float32",
    "int64",
    "bits",
    "group_size",
    "packing",
    "data_endianness",
    "big",
    "little",
    "layout",
    "sparse_format",
    "name",
    "crc32c:",
    "sha256:",
    "",
};

constexpr std::uint64_t numbers[] = {
    0,
    1,
    2,
    3,
    7,
    8,
    23,
    24,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    4095,
    4096,
    65535,
    65536,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffffffffffc0,
    0xffffffffffffffff,
};

/// Made anew for every input, so it must cost nothing to make.
using dice = std::minstd_rand;

class mutation {
public:
    mutation(item& root, std::uint64_t file_bytes, unsigned seed) : file_bytes_(file_bytes), dice_(seed + 1) {
        collect(root);
    }

    /// Edits one item. The others stay where they are only if this is the last call.
    void edit() {
        item& chosen = *all_[below(all_.size())];
        switch (below(12)) {
        case 0:
        case 1:
        case 2:
            change_content(chosen);
            break;
        case 3:
            chosen.argument_bytes = std::size_t{1} << below(4);
            break;
        case 4:
            change_form(chosen);
            break;
        case 5:
            repeat_child(chosen);
            break;
        case 6:
            drop_child(chosen);
            break;
        case 7:
            exchange_children(chosen);
            break;
        case 8:
            take_from_elsewhere(chosen);
            break;
        case 9:
            become_something_small(chosen);
            break;
        case 10:
            wrap(chosen);
            break;
        default:
            add_field(chosen);
        }
    }

    /// Writes one item down as nobody need: with a longer head, or without its length. It means the same.
    void write_otherwise() {
        item& chosen = *all_[below(all_.size())];
        if (below(4) == 0) {
            drop_length(chosen);
        } else {
            chosen.argument_bytes = below(2) == 0 ? 1 : std::size_t{1} << below(4);
        }
    }

private:
    void collect(item& root) {
        all_.push_back(&root);
        for (item& child : root.children) {
            collect(child);
        }
    }

    std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(dice_); }
    std::uint64_t number() {
        const std::uint64_t base = below(4) == 0 ? file_bytes_ : numbers[below(std::size(numbers))];
        return base + (below(3) == 0 ? below(129) - 64 : 0);
    }
    std::string_view word() { return words[below(std::size(words))]; }

    void change_content(item& chosen) {
        if (chosen.kind != kind::bytes && chosen.kind != kind::text) {
            chosen.argument = below(3) == 0 ? chosen.argument + below(17) - 8 : number();
        } else if (chosen.content.empty() || below(2) == 0) {
            chosen.content = word();
            chosen.is_indefinite = false;
        } else {
            chosen.content[below(chosen.content.size())] = static_cast<char>(below(256));
        }
    }

    void change_form(item& chosen) {
        if (below(4) == 0) {
            chosen.tells_its_count = false;
            chosen.argument = number();
        } else {
            drop_length(chosen);
        }
    }

    /// Or takes it up again.
    void drop_length(item& chosen) {
        if (chosen.kind == kind::text || chosen.kind == kind::bytes) {
            item chunk = chosen;
            chosen.content = chosen.is_indefinite ? tree_text() : encode(chunk);
            chosen.is_indefinite = !chosen.is_indefinite;
        } else if (chosen.kind == kind::array || chosen.kind == kind::map) {
            chosen.is_indefinite = !chosen.is_indefinite;
        }
    }

    /// Of a map a pair counts as one child, mostly.
    std::size_t step(const item& chosen) { return chosen.kind == kind::map && below(8) != 0 ? 2 : 1; }

    /// As often as it may be needed for the reader to learn what its objects look like, often under a key of its own.
    void repeat_child(item& chosen) {
        const std::size_t count = step(chosen);
        const bool has_keys = chosen.kind == kind::map && count == 2 && below(2) == 0;
        if (chosen.children.size() >= count) {
            const std::size_t at = below(chosen.children.size() / count) * count;
            std::pmr::vector<item> again(chosen.children.begin() + static_cast<std::ptrdiff_t>(at),
                                         chosen.children.begin() + static_cast<std::ptrdiff_t>(at + count));
            const std::size_t times = below(8) == 0 ? below(64) : 1;
            for (std::size_t i = 0; i < times; ++i) {
                if (has_keys && !again.front().content.empty()) {
                    ++again.front().content.back(); // in their order, of the same length
                }
                chosen.children.insert(chosen.children.end(), again.begin(), again.end());
            }
        }
    }

    void drop_child(item& chosen) {
        const std::size_t count = step(chosen);
        if (chosen.kind != kind::tag && chosen.children.size() >= count) {
            const auto at =
                chosen.children.begin() + static_cast<std::ptrdiff_t>(below(chosen.children.size() / count) * count);
            chosen.children.erase(at, at + static_cast<std::ptrdiff_t>(count));
        }
    }

    void exchange_children(item& chosen) {
        const std::size_t count = step(chosen);
        if (chosen.children.size() >= 2 * count) {
            const std::size_t one = below(chosen.children.size() / count) * count;
            const std::size_t other = below(chosen.children.size() / count) * count;
            for (std::size_t i = 0; i < count && one != other; ++i) {
                std::swap(chosen.children[one + i], chosen.children[other + i]);
            }
        }
    }

    void take_from_elsewhere(item& chosen) {
        item copy = *all_[below(all_.size())]; // it may contain the chosen one
        chosen = std::move(copy);
    }

    void become_something_small(item& chosen) {
        item small;
        small.kind = static_cast<kind>(below(8));
        small.argument = small.kind == kind::simple ? below(28) : number();
        small.argument_bytes = below(3) == 0 ? std::size_t{1} << below(4) : 0;
        small.tells_its_count = below(16) != 0;
        if (small.kind == kind::tag) {
            small.children.push_back(number_item(number()));
        }
        chosen = std::move(small);
    }

    void wrap(item& chosen) {
        const std::size_t levels = below(8) == 0 ? below(70) + 1 : 1;
        for (std::size_t i = 0; i < levels; ++i) {
            item outer;
            outer.kind = below(2) == 0 ? kind::tag : kind::array;
            outer.children.push_back(std::move(chosen));
            chosen = std::move(outer);
        }
    }

    void add_field(item& chosen) {
        if (chosen.kind == kind::map) {
            chosen.children.push_back(text_item(word()));
            chosen.children.push_back(below(2) == 0 ? number_item(number()) : text_item(word()));
        } else if (chosen.kind == kind::array) {
            chosen.children.push_back(number_item(number()));
        }
    }

    std::uint64_t file_bytes_;
    dice dice_;
    std::pmr::vector<item*> all_;
};

const item* value_of(const item& map, std::string_view key) {
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
        if (map.children[i].kind == kind::text && map.children[i].content == key) {
            return &map.children[i + 1];
        }
    }
    return nullptr;
}

/// Where a map says where a blob lies and what its digest is, the digest becomes that of the bytes there.
void mend_digests(item& root, std::string_view front) {
    for (item& child : root.children) {
        mend_digests(child, front);
    }
    if (root.kind != kind::map) {
        return;
    }
    const item* const offset = value_of(root, "offset");
    const item* const length = value_of(root, "length") != nullptr ? value_of(root, "length") : value_of(root, "size");
    if (offset == nullptr || length == nullptr || offset->argument > front.size() ||
        length->argument > front.size() - offset->argument) {
        return;
    }
    const std::string_view blob =
        front.substr(static_cast<std::size_t>(offset->argument), static_cast<std::size_t>(length->argument));
    for (std::size_t i = 0; i + 1 < root.children.size(); i += 2) {
        item& text = root.children[i + 1];
        const bool is_digest = root.children[i].content == "digest" || root.children[i].content == "checksum";
        if (is_digest && text.kind == kind::text && !text.is_indefinite) {
            text.content = ztensor::digest_text(
                text.content.substr(0, 7) == "sha256:" ? ztensor::digest::sha256 : ztensor::digest::crc32c,
                ztensor::bytes_view(static_cast<const std::byte*>(static_cast<const void*>(blob.data())), blob.size()));
        }
    }
}

/// As version 2 wants it: heads as short as can be, nothing of indefinite length, the pairs of a map in order.
void settle(item& root) {
    for (item& child : root.children) {
        settle(child);
    }
    if (root.kind != kind::simple) {
        root.argument_bytes = 0;
    }
    if (root.kind == kind::map || root.kind == kind::array) {
        root.is_indefinite = false;
    }
    if (root.kind != kind::map) {
        return;
    }
    std::pmr::vector<std::pair<tree_text, std::size_t>> order;
    for (std::size_t i = 0; i + 1 < root.children.size(); i += 2) {
        order.emplace_back(encode(root.children[i]), i);
    }
    std::sort(order.begin(), order.end());
    std::pmr::vector<item> sorted;
    sorted.reserve(root.children.size());
    for (const auto& [key, at] : order) {
        sorted.push_back(std::move(root.children[at]));
        sorted.push_back(std::move(root.children[at + 1]));
    }
    root.children = std::move(sorted);
}

/// Some of the bytes before the index, behind the magic.
void change_blobs(tree_text& front, dice& from) {
    for (std::size_t times = from() % 4 + 1; times-- > 0 && front.size() > 8;) {
        front[8 + from() % (front.size() - 8)] = static_cast<char>(from());
    }
}

/// The input as a file, or as one item without a file around it. Empty if it is neither.
tree_text mutated(std::string_view input, unsigned seed) {
    dice from(seed + 1);
    const unsigned edits = from() % 3 + 1;
    if (std::optional<container> file = parse_container(input)) {
        for (unsigned i = 0; i < edits; ++i) {
            mutation(file->index, file->front.size(), static_cast<unsigned>(from())).edit();
        }
        if (from() % 4 == 0) {
            change_blobs(file->front, from);
        }
        if (from() % 2 == 0) {
            mend_digests(file->index, file->front);
        }
        file->has_footer_magic ^= from() % 64 == 0;
        return encode(*file, from() % 64 == 0 ? from() % 33 - 16 : 0);
    }
    if (std::optional<item> root = parse_item(input)) {
        const bool has_one_fault = from() % 8 == 0;
        for (unsigned i = 0; i < edits && !has_one_fault; ++i) {
            mutation(*root, input.size(), static_cast<unsigned>(from())).edit();
        }
        if (has_one_fault || from() % 2 == 0) {
            settle(*root);
            if (has_one_fault || from() % 8 == 0) { // behind all else, so that nothing else is wrong
                mutation(*root, input.size(), static_cast<unsigned>(from())).write_otherwise();
            }
        }
        return encode(*root);
    }
    return {};
}

} // namespace
} // namespace fuzzing

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
    if (seed % 4 != 0) {
        const fuzzing::tree_memory memory;
        const fuzzing::tree_text changed =
            fuzzing::mutated({static_cast<const char*>(static_cast<const void*>(data)), size}, seed / 4);
        if (!changed.empty() && changed.size() <= max_size) {
            std::memcpy(data, changed.data(), changed.size());
            return changed.size();
        }
    }
    return LLVMFuzzerMutate(data, size, max_size);
}
