// SPDX-License-Identifier: MIT
#include "support/cbor.hpp"

#include <algorithm>

namespace support::cbor {

bytes head_of_size(major kind, std::uint64_t argument, std::size_t size) {
    const unsigned info = size == 0   ? static_cast<unsigned>(argument)
                          : size == 1 ? 24
                          : size == 2 ? 25
                          : size == 4 ? 26
                                      : 27;
    return bytes(1, static_cast<char>(static_cast<unsigned>(kind) << 5 | info)) + big_endian(argument, size);
}

bytes head(major kind, std::uint64_t argument) {
    const std::size_t size = argument < 24            ? 0
                             : argument <= 0xff       ? 1
                             : argument <= 0xffff     ? 2
                             : argument <= 0xffffffff ? 4
                                                      : 8;
    return head_of_size(kind, argument, size);
}

bytes indefinite_head(major kind) {
    return bytes(1, static_cast<char>(static_cast<unsigned>(kind) << 5 | 31));
}

bytes number(std::uint64_t value) {
    return head(major::unsigned_integer, value);
}

bytes minus_one_minus(std::uint64_t value) {
    return head(major::negative_integer, value);
}

bytes text(std::string_view value) {
    return head(major::text, value.size()) + bytes(value);
}

bytes byte_string(std::string_view value) {
    return head(major::byte_string, value.size()) + bytes(value);
}

bytes tag(std::uint64_t number, std::string_view item) {
    return head(major::tag, number) + bytes(item);
}

bytes joined(const std::vector<bytes>& items) {
    bytes out;
    for (const bytes& item : items) {
        out += item;
    }
    return out;
}

bytes array(const std::vector<bytes>& items) {
    return head(major::array, items.size()) + joined(items);
}

bytes indefinite_array(const std::vector<bytes>& items) {
    return indefinite_head(major::array) + joined(items) + stop;
}

bytes numbers(const std::vector<std::uint64_t>& values) {
    bytes out = head(major::array, values.size());
    for (const std::uint64_t value : values) {
        out += number(value);
    }
    return out;
}

bytes chunked(const std::vector<std::string_view>& chunks) {
    bytes out = indefinite_head(major::text);
    for (const std::string_view chunk : chunks) {
        out += text(chunk);
    }
    return out + stop;
}

bytes nested(std::size_t levels, std::string_view innermost) {
    return repeated(levels, "\x81") + bytes(innermost);
}

map::map(std::initializer_list<std::pair<std::string_view, bytes>> pairs) {
    for (const auto& [key, value] : pairs) {
        add(text(key), value);
    }
}

map& map::set(std::string_view key, bytes value) {
    const auto at = find(key);
    if (at == pairs_.end()) {
        return add(text(key), std::move(value));
    }
    at->second = std::move(value);
    return *this;
}

map& map::add(bytes encoded_key, bytes value) {
    pairs_.emplace_back(std::move(encoded_key), std::move(value));
    return *this;
}

map& map::remove(std::string_view key) {
    if (const auto at = find(key); at != pairs_.end()) {
        pairs_.erase(at);
    }
    return *this;
}

map& map::respell(std::string_view key, bytes encoded_key) {
    if (const auto at = find(key); at != pairs_.end()) {
        at->first = std::move(encoded_key);
    }
    return *this;
}

bytes map::encoded() const {
    return head(major::map, pairs_.size()) + content();
}

bytes map::indefinite() const {
    return indefinite_head(major::map) + content() + stop;
}

map::pair_list::iterator map::find(std::string_view key) {
    const bytes encoded_key = text(key);
    return std::find_if(pairs_.begin(), pairs_.end(), [&](const auto& pair) { return pair.first == encoded_key; });
}

bytes map::content() const {
    bytes out;
    for (const auto& [key, value] : pairs_) {
        out += key + value;
    }
    return out;
}

} // namespace support::cbor
