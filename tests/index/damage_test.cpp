// SPDX-License-Identifier: MIT
//
// Files that were cut, changed at every byte, or spelled in any of the well-formed ways: each is refused, or opens and
// can be walked without leaving its memory, on little stack.
#include "index/walking.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/openings.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::byte_vector;
using support::bytes;
using support::golden;
using support::golden_paths;
using support::open_bytes;
using support::sample;
using walking::mebibyte;
using walking::open_and_walk;
using ztensor::bytes_view;
using ztensor::dtype;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
using ztensor::version;
namespace cbor = support::cbor;
using walking::on_little_stack;
using walking::outcome;

struct golden_file {
    std::string name;
    byte_vector content;
};

/// Those of at most `max_bytes`.
std::vector<golden_file> golden_files(std::size_t max_bytes) {
    std::vector<golden_file> found;
    for (const std::filesystem::path& path : golden_paths()) {
        if (std::filesystem::file_size(path) <= max_bytes) {
            const std::string name = path.filename().string();
            found.push_back({name, golden(name)});
        }
    }
    REQUIRE(found.size() >= 20);
    return found;
}

std::uint64_t little_endian_at(const byte_vector& content, std::size_t position) {
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;) {
        value = value << 8 | std::to_integer<std::uint64_t>(content[position + i]);
    }
    return value;
}

/// Where the index starts, and behind it the footer.
std::size_t index_start(const byte_vector& content) {
    const byte_vector magic = support::to_vector(support::magic_1);
    const bool has_magic = std::equal(magic.begin(), magic.end(), content.end() - 8);
    const std::size_t size_field = content.size() - (has_magic ? 16 : 8);
    return size_field - static_cast<std::size_t>(little_endian_at(content, size_field));
}

} // namespace

TEST_CASE("every golden file opens and can be walked on little stack") {
    for (const golden_file& file : golden_files(4 * mebibyte)) {
        CAPTURE(file.name);
        outcome found = outcome::refused;
        on_little_stack([&] { found = open_and_walk(file.content); });
        CHECK(found == outcome::walked);
    }
}

TEST_CASE("every prefix of a file is refused") {
    for (const std::string_view name : {"v0.1-dense.zt", "v1.0-dense.zt", "s1.2-cbor-forms.zt"}) {
        const byte_vector whole = golden(name);
        REQUIRE(reader::from_bytes(bytes_view(whole)).has_value());
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const byte_vector prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
            // The magic of 0.1 and eight zeros of padding are the file without tensors (SPEC.md §2.5).
            const outcome expected = size == 16 && name == "v0.1-dense.zt" ? outcome::walked : outcome::refused;
            if (open_and_walk(prefix) != expected) {
                CAPTURE(name, size);
                CHECK(open_and_walk(prefix) == expected);
            }
        }
    }
}

TEST_CASE("a file changed at any byte of its index or footer is refused, or opens and stays within its memory") {
    std::size_t walked_count = 0;
    std::size_t refused_count = 0;
    for (golden_file& file : golden_files(32 * 1024)) {
        for (std::size_t at = index_start(file.content); at < file.content.size(); ++at) {
            const std::byte original = file.content[at];
            byte_vector values = {std::byte{0x00}, std::byte{0x7f}, std::byte{0x80}, std::byte{0xff}};
            for (unsigned bit = 0; bit < 8; ++bit) {
                values.push_back(original ^ std::byte{1} << bit);
            }
            for (const std::byte value : values) {
                file.content[at] = value;
                const outcome found = open_and_walk(file.content);
                if (found == outcome::unsound) {
                    CAPTURE(file.name, at, std::to_integer<int>(value));
                    CHECK(found != outcome::unsound);
                }
                ++(found == outcome::walked ? walked_count : refused_count);
            }
            file.content[at] = original;
        }
    }
    CHECK(walked_count > 1000); // both happen: names and digests may say anything
    CHECK(refused_count > walked_count);
}

TEST_CASE("a file changed at any byte of its blobs opens, and what it holds is read or refused") {
    for (const std::string_view name : {"v1.1-digests.zt", "s0.1-sparse-one-blob.zt", "v1.2-zstd.zt"}) {
        byte_vector content = golden(name);
        const std::size_t end = index_start(content);
        for (std::size_t at = 64; at < end; at += 1 + end / 1000) {
            const std::byte original = content[at];
            content[at] = ~original;
            const outcome found = open_and_walk(content);
            if (found != outcome::walked) {
                CAPTURE(name, at);
                CHECK(found == outcome::walked);
            }
            content[at] = original;
        }
    }
}

TEST_CASE("an index that changes after it was validated changes nothing") {
    byte_vector content = support::to_vector(sample().file());
    const reader file = reader::from_bytes(bytes_view(content)).value();
    std::fill(content.begin() + 72, content.end(), std::byte{0xff}); // all behind the blob
    CHECK(file.version().original() == "1.2.0");
    CHECK(file.find("w")->shape() == ztensor::shape{2});
    CHECK(file.read<float>("w").value() == std::vector<float>{1, 2});
}

// ---- spelling

namespace {

/// Encodes items in one of the many well-formed ways there are, chosen at random.
class speller {
public:
    using pairs = std::vector<std::pair<std::string, bytes>>;

    explicit speller(unsigned seed) : random_(seed) {}

    bytes number(std::uint64_t value) { return head(cbor::major::unsigned_integer, value); }

    bytes text(std::string_view value) {
        if (chance(2)) {
            return head(cbor::major::text, value.size()) + bytes(value);
        }
        bytes out = cbor::indefinite_head(cbor::major::text);
        while (!value.empty() || chance(4)) {
            const std::size_t size = std::min<std::size_t>(value.size(), below(chance(2) ? 4 : 400));
            out += head(cbor::major::text, size) + bytes(value.substr(0, size));
            value.remove_prefix(size);
        }
        return out + cbor::stop;
    }

    bytes array(const std::vector<bytes>& items) {
        return chance(2) ? cbor::indefinite_array(items) : head(cbor::major::array, items.size()) + cbor::joined(items);
    }

    /// In any order.
    bytes map(pairs all) {
        for (std::size_t i = all.size(); i > 1; --i) {
            std::swap(all[i - 1], all[below(i)]);
        }
        bytes content;
        for (const auto& [key, value] : all) {
            content += text(key) + value;
        }
        return chance(2) ? cbor::indefinite_head(cbor::major::map) + content + cbor::stop
                         : head(cbor::major::map, all.size()) + content;
    }

    /// A map with a few fields more, that no version knows.
    bytes map_and_more(pairs all) {
        for (std::size_t i = below(3); i-- > 0;) {
            all.emplace_back("unknown " + std::to_string(i) + std::string(below(300), '.'), anything());
        }
        return map(std::move(all));
    }

    bytes anything() {
        switch (below(5)) {
        case 0:
            return text(std::string(below(600), 't'));
        case 1:
            return array({number(below(1000)), cbor::tag(2, cbor::byte_string("tagged")), text("in an array")});
        case 2:
            return map({{"twice", text("a")}, {"twice", text("b")}});
        case 3:
            return cbor::double_one;
        default:
            return cbor::undefined;
        }
    }

private:
    std::size_t below(std::size_t end) { return random_() % end; }
    bool chance(std::size_t of) { return below(of) == 0; }

    bytes head(cbor::major kind, std::uint64_t argument) {
        std::vector<std::size_t> sizes = {8};
        const std::pair<std::size_t, std::uint64_t> shorter[] = {{0, 23}, {1, 0xff}, {2, 0xffff}, {4, 0xffffffff}};
        for (const auto& [size, most] : shorter) {
            if (argument <= most) {
                sizes.push_back(size);
            }
        }
        return cbor::head_of_size(kind, argument, sizes[below(sizes.size())]);
    }

    std::mt19937 random_;
};

const std::string spelled_names[] = {"w", std::string(23, 'x'), std::string(24, 'y'), std::string(300, 'z'),
                                     std::string(4096, 'n')};

/// Both attributes of an object.
speller::pairs spelled_attributes(speller& spell, const std::string& name) {
    return {{"of " + name.substr(0, 200), spell.text(name)}, {"number", spell.number(name.size())}};
}

/// An index of one object of each name: the numbers 1 and 2, of shape [1, 2], at offset 64.
bytes spelled_index(speller& spell, ztensor::version from) {
    const std::string dtype = from <= version::v1_0 ? "float32" : "f32";
    speller::pairs objects;
    std::vector<bytes> tensors;
    for (const std::string& name : spelled_names) {
        const bytes shape = spell.array({spell.number(1), spell.number(2)});
        speller::pairs attributes = spelled_attributes(spell, name);
        if (from == version::v0_1) {
            speller::pairs fields = {{"name", spell.text(name)},      {"offset", spell.number(64)},
                                     {"size", spell.number(8)},       {"dtype", spell.text(dtype)},
                                     {"layout", spell.text("dense")}, {"shape", shape},
                                     {"encoding", spell.text("raw")}, {"checksum", spell.text("crc32c:28c0c9b1")}};
            fields.insert(fields.end(), attributes.begin(), attributes.end());
            tensors.push_back(spell.map(fields));
            continue;
        }
        speller::pairs component = {{"offset", spell.number(64)},
                                    {"length", spell.number(8)},
                                    {"encoding", spell.text("raw")},
                                    {"digest", spell.text("crc32c:28c0c9b1")}};
        speller::pairs object = {{"shape", shape}, {"format", spell.text("dense")}};
        (from == version::v1_0 ? object : component).emplace_back("dtype", spell.text(dtype));
        object.emplace_back("components", spell.map({{"data", spell.map_and_more(component)}}));
        if (from != version::v1_0) { // which has none
            object.emplace_back("attributes", spell.map(attributes));
        }
        objects.emplace_back(name, spell.map_and_more(object));
    }
    if (from == version::v0_1) {
        return spell.array(tensors);
    }
    return spell.map_and_more({{"version", spell.text(support::version_text(from))},
                               {"attributes", spell.map(spelled_attributes(spell, "all"))},
                               {from == version::v1_0 ? "tensors" : "objects", spell.map(objects)}});
}

bool has_spelled_attributes(ztensor::attributes_view attributes, const std::string& name) {
    return attributes.size() == 2 && attributes.text("of " + name.substr(0, 200)).value_or("") == name &&
           attributes.unsigned_integer("number").value_or(0) == name.size();
}

/// What is wrong with the file of that index; "" if nothing.
std::string spelling_fault(const result<reader>& file, ztensor::version from) {
    if (!file) {
        return file.error().what();
    }
    if (file->version() != from || file->size() != std::size(spelled_names) ||
        (from != version::v0_1 && !has_spelled_attributes(file->attributes(), "all"))) {
        return "the file";
    }
    for (const std::string& name : spelled_names) {
        const result<ztensor::object_view> object = file->find(name);
        if (!object || object->shape() != ztensor::shape{1, 2} || object->format().text() != "dense") {
            return "object " + name;
        }
        if (from != version::v1_0 && !has_spelled_attributes(object->attributes(), name)) {
            return "the attributes of " + name;
        }
        if (object->read<float>().value_or(std::vector<float>()) != std::vector<float>{1, 2}) {
            return "the data of " + name;
        }
    }
    return "";
}

} // namespace

TEST_CASE("an index reads the same in any well-formed spelling") {
    const bytes numbers = support::little_endian(0x3f800000, 4) + support::little_endian(0x40000000, 4);
    for (const ztensor::version from : {version::v0_1, version::v1_0, version::v1_1, version::v1_2}) {
        for (unsigned seed = 0; seed < 300; ++seed) {
            speller spell(seed);
            const bytes content = sample(from).blobs({numbers}).file_of(spelled_index(spell, from));
            const std::string fault = spelling_fault(open_bytes(content), from);
            if (!fault.empty()) {
                CAPTURE(name(from), seed);
                CHECK(fault == "");
            }
        }
    }
}
