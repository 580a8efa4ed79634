// SPDX-License-Identifier: MIT
#include "support/mutants.hpp"

#include "support/cbor.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace support {

std::uint64_t dice::next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

std::uint64_t hashed(std::string_view text, std::uint64_t before) {
    for (const char each : text) {
        before = (before ^ static_cast<unsigned char>(each)) * 0x100000001b3;
    }
    return before;
}

std::string hash_text(std::uint64_t hash) {
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4) {
        digits += "0123456789abcdef"[hash >> shift & 15];
    }
    return digits;
}

namespace mutants {
namespace {

constexpr std::size_t footer_bytes_2 = 40;
constexpr std::string_view magic_2 = "\x89ZT2\r\n\x1a\n";

std::uint64_t load(std::string_view content, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) {
        value = value << 8 | static_cast<unsigned char>(content[at + i]);
    }
    return value;
}

/// An item of an index, and where it stands in the item around it.
struct item {
    std::size_t begin = 0, end = 0;
    std::size_t parent = 0; ///< which of all items; the first is its own
    std::uint64_t position = 0;
    unsigned major = 0;
};

struct open_item {
    std::size_t number;
    std::uint64_t children, left;
    bool is_indefinite;
};

/// In their order. What is no CBOR ends the list, and the index ends what is open there.
std::vector<item> items_of(std::string_view index) {
    std::vector<item> found;
    std::vector<open_item> open;
    const auto close = [&](std::size_t at) {
        while (!open.empty() && !open.back().is_indefinite && open.back().left == 0) {
            found[open.back().number].end = at;
            open.pop_back();
        }
    };
    for (std::size_t at = 0; at < index.size() && (found.empty() || !open.empty());) {
        const unsigned head = static_cast<unsigned char>(index[at]), major = head >> 5, info = head & 31;
        if (head == 0xff) {
            if (open.empty() || !open.back().is_indefinite) {
                break;
            }
            found[open.back().number].end = ++at;
            open.pop_back();
            close(at);
            continue;
        }
        const std::size_t more = info >= 24 && info < 28 ? std::size_t{1} << (info - 24) : 0;
        if (index.size() - at - 1 < more) {
            break;
        }
        item next;
        next.begin = at;
        next.major = major;
        if (!open.empty()) {
            next.parent = open.back().number;
            next.position = open.back().children++;
            open.back().left -= open.back().is_indefinite ? 0 : 1;
        }
        std::uint64_t argument = info;
        for (std::size_t i = 0; i < more; ++i) {
            argument = (i == 0 ? 0 : argument << 8) | static_cast<unsigned char>(index[at + 1 + i]);
        }
        at += 1 + more;
        const bool is_indefinite = info == 31 && major >= 2 && major <= 5;
        if ((major == 2 || major == 3) && !is_indefinite) {
            if (argument > index.size() - at) {
                break;
            }
            at += static_cast<std::size_t>(argument);
        }
        if (is_indefinite || (major >= 4 && major <= 6)) {
            open.push_back({found.size(), 0, major == 5 ? 2 * argument : major == 6 ? 1 : argument, is_indefinite});
        } else {
            next.end = at;
        }
        found.push_back(next);
        close(at);
    }
    for (const open_item& each : open) {
        found[each.number].end = index.size();
    }
    return found;
}

const bytes odd_items[] = {
    cbor::number(0),
    cbor::number(1),
    cbor::number(63),
    cbor::number(64),
    cbor::number(0xffffffff),
    cbor::number(support::largest),
    cbor::number(support::two_to_63),
    cbor::minus_one_minus(0),
    cbor::text(""),
    cbor::text("data"),
    cbor::text("f32"),
    cbor::text("zstd"),
    cbor::text("sparse_csr"),
    cbor::text("crc32c:0x00000000"),
    cbor::text("1.2.0"),
    cbor::text("\xc3"),
    cbor::chunked({"da", "ta"}),
    cbor::byte_string("x"),
    cbor::array({}),
    cbor::array({cbor::number(2), cbor::number(3)}),
    cbor::indefinite_array({cbor::number(2)}),
    cbor::map(),
    cbor::map{{"offset", cbor::number(64)}},
    cbor::tag(1, cbor::number(1)),
    cbor::null,
    cbor::undefined,
    cbor::yes,
    cbor::half_one,
    cbor::double_one,
    cbor::stop,
};

const char odd_bytes[] = {'\0',   '\x01', '\x18', '\x1b', '\x3b', '\x5f', '\x60', '\x7f', '\x7b',
                          '\x80', '\x9f', '\xa0', '\xbf', '\xc1', '\xf6', '\xf8', '\xfb', '\xff'};

/// Bytes, whatever they stand for.
void change_bytes(bytes& index, dice& from) {
    const std::size_t at = from.below(index.size());
    const std::size_t count = std::min(index.size() - at, from.below(16) + 1);
    switch (from.below(6)) {
    case 0:
        index[at] = static_cast<char>(static_cast<unsigned char>(index[at]) ^ (1U << from.below(8)));
        break;
    case 1:
        index[at] = static_cast<char>(from.below(256));
        break;
    case 2:
        index[at] = odd_bytes[from.below(std::size(odd_bytes))];
        break;
    case 3:
        index.erase(at, count);
        break;
    case 4:
        index.insert(from.below(index.size()), index.substr(at, count));
        break;
    default:
        index.insert(at, count, odd_bytes[from.below(std::size(odd_bytes))]);
    }
}

/// Adds to or takes from what a map says to hold, where that stands in its first byte.
bool change_count(bytes& index, std::size_t map, int by) {
    const unsigned head = static_cast<unsigned char>(index[map]), info = head & 31;
    if (info == 31) {
        return true;
    }
    if (info == 0 || info >= 23) {
        return false;
    }
    index[map] = static_cast<char>(by < 0 ? head - 1 : head + 1);
    return true;
}

/// One pair of a map is left out, stands twice, changes places with the next, or gets a neighbour.
bool change_pair(bytes& index, const std::vector<item>& all, dice& from) {
    const item& key = all[from.below(all.size())];
    const auto is_child = [&](const item& each, std::uint64_t position) {
        return each.begin > key.begin && each.parent == key.parent && each.position == position;
    };
    const auto child = [&](std::uint64_t position) {
        return std::find_if(all.begin(), all.end(), [&](const item& each) { return is_child(each, position); });
    };
    const auto value = child(key.position + 1);
    const item& map = all[key.parent];
    if (key.position % 2 != 0 || value == all.end() || map.major != 5 || &map == &key) {
        return false;
    }
    const bytes pair = index.substr(key.begin, value->end - key.begin);
    const auto next = child(key.position + 3);
    switch (from.below(4)) {
    case 0:
        return change_count(index, map.begin, -1) && (index.erase(key.begin, pair.size()), true);
    case 1:
        return change_count(index, map.begin, 1) && (index.insert(key.begin, pair), true);
    case 2:
        return change_count(index, map.begin, 1) &&
               (index.insert(key.begin, cbor::text("zz") + odd_items[from.below(std::size(odd_items))]), true);
    default:
        if (next == all.end()) {
            return false;
        }
        index.insert(next->end, pair);
        index.erase(key.begin, pair.size());
        return true;
    }
}

/// One item becomes another, or is written in another way.
void change_item(bytes& index, const std::vector<item>& all, dice& from) {
    const item& chosen = all[from.below(all.size())];
    const std::size_t size = chosen.end - chosen.begin;
    const bytes content = index.substr(chosen.begin, size);
    const item& other = all[from.below(all.size())];
    const unsigned head = static_cast<unsigned char>(content[0]), info = head & 31;
    switch (from.below(6)) {
    case 0:
        index.replace(chosen.begin, size, index.substr(other.begin, other.end - other.begin));
        break;
    case 1:
        index.replace(chosen.begin, size, cbor::tag(from.below(30), content));
        break;
    case 2:
        if (info < 24) {
            const std::size_t width = std::size_t{1} << from.below(4);
            index.replace(chosen.begin, 1, cbor::head_of_size(static_cast<cbor::major>(head >> 5), info, width));
            break;
        }
        [[fallthrough]];
    case 3:
        if (chosen.major == 0) {
            index.replace(chosen.begin, size, cbor::number(from.next() >> from.below(64)));
            break;
        }
        if (chosen.major == 3 && size > 1) {
            index[chosen.end - 1] = static_cast<char>(static_cast<unsigned char>(index[chosen.end - 1]) ^ 1U);
            break;
        }
        [[fallthrough]];
    default:
        index.replace(chosen.begin, size, odd_items[from.below(std::size(odd_items))]);
    }
}

bytes changed_index(bytes index, dice& from) {
    for (std::size_t times = from.below(4) == 0 ? 2 : 1; times-- > 0 && !index.empty();) {
        const std::vector<item> all = items_of(index);
        const std::size_t kind = from.below(8);
        if (all.empty() || kind < 2 || (kind < 5 && !change_pair(index, all, from))) {
            change_bytes(index, from);
        } else if (kind >= 5) {
            change_item(index, all, from);
        }
    }
    return index;
}

/// Where the index of a .zt file lies; `size` is 0 if nowhere.
struct index_place {
    std::size_t begin = 0, size = 0;
};

bool is_2(std::string_view content) {
    return content.size() >= 8 + footer_bytes_2 && content.substr(0, 8) == magic_2;
}

index_place place_of_index(std::string_view content) {
    if (is_2(content)) {
        const std::uint64_t begin = load(content, content.size() - 40, 8), size = load(content, content.size() - 32, 8);
        const bool fits = begin <= content.size() - 40 && size <= content.size() - 40 - begin;
        return fits ? index_place{static_cast<std::size_t>(begin), static_cast<std::size_t>(size)} : index_place();
    }
    if (content.size() < 24 || content.substr(0, 4) != "ZTEN") {
        return {};
    }
    const std::size_t footer = content.substr(content.size() - 8) == "ZTEN1000" ? 16 : 8;
    const std::uint64_t size = load(content, content.size() - footer, 8);
    return size <= content.size() - footer - 8
               ? index_place{content.size() - footer - static_cast<std::size_t>(size), static_cast<std::size_t>(size)}
               : index_place();
}

bytes with_changed_index(const bytes& content, index_place place, dice& from, const index_hash& hash_of_2) {
    const bytes index = changed_index(content.substr(place.begin, place.size), from);
    bytes footer = content.substr(place.begin + place.size);
    if (is_2(content)) {
        footer.replace(8, 16, little_endian(index.size(), 8) + little_endian(hash_of_2(index), 8));
    } else {
        footer.replace(0, 8, little_endian(index.size(), 8));
    }
    return content.substr(0, place.begin) + index + footer;
}

/// Writes the CRC-32 of each entry that is not compressed into both of its heads.
void mend_archive(bytes& content) {
    constexpr std::string_view central = "PK\x01\x02";
    for (std::size_t at = content.find(central); at != bytes::npos; at = content.find(central, at + 4)) {
        if (content.size() - at < 46 || load(content, at + 10, 2) != 0) {
            continue;
        }
        const std::uint64_t size = load(content, at + 20, 4), local = load(content, at + 42, 4);
        if (local > content.size() || content.size() - local < 30) {
            continue;
        }
        const std::size_t own = static_cast<std::size_t>(local);
        const std::uint64_t begin = local + 30 + load(content, own + 26, 2) + load(content, own + 28, 2);
        if (begin > content.size() || size > content.size() - begin || load(content, own + 14, 4) == 0) {
            continue;
        }
        const std::string_view entry(content.data() + static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
        const bytes crc = little_endian(crc32_of(entry), 4);
        content.replace(own + 14, 4, crc);
        content.replace(at + 16, 4, crc);
    }
}

/// Of an archive mostly single bytes, for what is cut off or put in moves all that follows.
bytes changed_archive(bytes content, dice& from) {
    if (from.below(4) == 0) {
        change_bytes(content, from);
        return content;
    }
    content[from.below(content.size())] =
        from.below(2) == 0 ? odd_bytes[from.below(std::size(odd_bytes))] : static_cast<char>(from.below(256));
    mend_archive(content);
    return content;
}

/// The front, where headers stand; the size of one of safetensors becomes right again.
bytes changed_front(const bytes& content, dice& from) {
    if (content.size() > 8 && content[8] == '{' && load(content, 0, 8) <= content.size() - 8 && from.below(8) != 0) {
        const std::size_t size = static_cast<std::size_t>(load(content, 0, 8));
        bytes header = content.substr(8, size);
        if (!header.empty()) {
            change_bytes(header, from);
        }
        return little_endian(header.size(), 8) + header + content.substr(8 + size);
    }
    const std::size_t size = from.below(4) == 0 ? content.size() : std::min<std::size_t>(content.size(), 512);
    bytes front = content.substr(0, size);
    change_bytes(front, from);
    return front + content.substr(size);
}

} // namespace
} // namespace mutants

bytes mutant(const bytes& content, std::uint64_t seed, const index_hash& hash_of_2) {
    dice from(seed);
    const mutants::index_place place = mutants::place_of_index(content);
    if (from.below(16) == 0 || (place.size == 0 && content.substr(0, 2) != "PK" && content.substr(0, 4) == "ZTEN")) {
        bytes whole = content;
        mutants::change_bytes(whole, from);
        return whole;
    }
    if (from.below(24) == 0) {
        return content.substr(0, from.below(content.size()));
    }
    if (place.size != 0) {
        return mutants::with_changed_index(content, place, from, hash_of_2);
    }
    return content.substr(0, 2) == "PK" ? mutants::changed_archive(content, from)
                                        : mutants::changed_front(content, from);
}

} // namespace support
