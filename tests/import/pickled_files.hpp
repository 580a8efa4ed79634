// SPDX-License-Identifier: MIT
//
// Pickles and archives of checkpoints, put together opcode by opcode and entry by entry.
#ifndef ZTENSOR_TESTS_FOREIGN_PICKLED_FILES_HPP
#define ZTENSOR_TESTS_FOREIGN_PICKLED_FILES_HPP

#include "support/bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace support {
namespace pickled {

inline bytes text(const bytes& content) {
    return "X" + little_endian(content.size(), 4) + content;
}
inline bytes byte_string(const bytes& content) {
    return "B" + little_endian(content.size(), 4) + content;
}
inline bytes number(std::uint64_t value) {
    return "J" + little_endian(value, 4);
}
inline bytes global(const bytes& module, const bytes& name) {
    return "c" + module + "\n" + name + "\n";
}
inline bytes tuple(const std::vector<bytes>& parts) {
    bytes all = "(";
    for (const bytes& each : parts) {
        all += each;
    }
    return all + "t";
}
inline bytes sizes(const std::vector<std::uint64_t>& numbers) {
    bytes all = "(";
    for (const std::uint64_t each : numbers) {
        all += number(each);
    }
    return all + "t";
}
inline bytes call(const bytes& callable, const std::vector<bytes>& arguments) {
    return callable + tuple(arguments) + "R";
}

using items = std::vector<std::pair<bytes, bytes>>;
inline bytes dictionary(const items& values) {
    bytes all = "}(";
    for (const auto& [key, value] : values) {
        all += text(key) + value;
    }
    return all + "u";
}
/// A whole pickle of that value.
inline bytes pickle(const bytes& value) {
    return "\x80\x02" + value + ".";
}

/// The storage of that class, or of that module and class, in the entry data/KEY.
inline bytes storage(const bytes& type, const bytes& key, std::uint64_t elements) {
    return tuple({text("storage"), global("torch", type), text(key), text("cpu"), number(elements)}) + "Q";
}
inline bytes strided(const bytes& of, const std::vector<std::uint64_t>& shape,
                     const std::vector<std::uint64_t>& strides) {
    return call(global("torch._utils", "_rebuild_tensor_v2"),
                {of, number(0), sizes(shape), sizes(strides), "\x89", ")"});
}
/// One dimension of all elements of a storage of its own.
inline bytes tensor(const bytes& type, const bytes& key, std::uint64_t elements) {
    return strided(storage(type, key, elements), {elements}, {1});
}
/// An array of NumPy of one dimension, whose type is such as "f4".
inline bytes array(const bytes& type, std::uint64_t elements, const bytes& data,
                   const bytes& module = "numpy.core.multiarray") {
    const bytes dtype = call(global("numpy", "dtype"), {text(type), "\x89", "\x88"}) +
                        tuple({number(3), text("<"), "N", "N", "N"}) + "b";
    return call(global(module, "_reconstruct"), {global("numpy", "ndarray"), sizes({0}), byte_string("b")}) +
           tuple({number(1), sizes({elements}), dtype, "\x89", byte_string(data)}) + "b";
}

/// A ZIP archive of stored entries; of more than 65,534, the records of ZIP64 say how many.
inline bytes archive(const std::vector<std::pair<bytes, bytes>>& entries) {
    bytes all, directory;
    for (const auto& [name, content] : entries) {
        const bytes common = bytes("\x14\0", 2) + bytes(8, '\0') + little_endian(crc32_of(content), 4) +
                             little_endian(content.size(), 4) + little_endian(content.size(), 4) +
                             little_endian(name.size(), 2) + bytes(2, '\0');
        directory += "PK\1\2" + bytes("\x14\0", 2) + common + bytes(10, '\0') + little_endian(all.size(), 4) + name;
        all += "PK\3\4" + common + name + content;
    }
    constexpr std::size_t most = 0xffff;
    bytes large;
    if (entries.size() >= most) {
        large = "PK\6\6" + little_endian(44, 8) + bytes("\x2d\0\x2d\0", 4) + bytes(8, '\0') +
                little_endian(entries.size(), 8) + little_endian(entries.size(), 8) +
                little_endian(directory.size(), 8) + little_endian(all.size(), 8) + "PK\6\7" + bytes(4, '\0') +
                little_endian(all.size() + directory.size(), 8) + little_endian(1, 4);
    }
    const bytes count = little_endian((std::min)(entries.size(), most), 2);
    return all + directory + large + "PK\5\6" + bytes(4, '\0') + count + count + little_endian(directory.size(), 4) +
           little_endian(all.size(), 4) + bytes(2, '\0');
}
/// A checkpoint of that value, whose storages are data/0, data/1, and so on.
inline bytes checkpoint(const bytes& value, const std::vector<bytes>& storages) {
    std::vector<std::pair<bytes, bytes>> entries = {{"x/data.pkl", pickle(value)}};
    for (std::size_t i = 0; i < storages.size(); ++i) {
        entries.emplace_back("x/data/" + std::to_string(i), storages[i]);
    }
    return archive(entries);
}

} // namespace pickled
} // namespace support

#endif
