// SPDX-License-Identifier: MIT
#include "transfer/copy_content.hpp"

#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

namespace things {

namespace cbor = support::cbor;
using namespace std::string_literals;

bytes copied(const bytes& file, ztensor::format_version version, const ztensor::copy_options& options) {
    const ztensor::reader from = support::opened(file);
    ztensor::writer to = support::to_memory(version);
    const ztensor::result<void> done = ztensor::copy(from, to, options);
    INFO((done ? "" : done.error().what()));
    CHECK(done.has_value());
    return support::finished(to);
}

ztensor::error failed_copy(const bytes& file, ztensor::format_version version, const ztensor::copy_options& options) {
    const ztensor::reader from = support::opened(file);
    ztensor::writer to = support::to_memory(version);
    const ztensor::result<void> done = ztensor::copy(from, to, options);
    REQUIRE_FALSE(done.has_value());
    return done.error();
}

ztensor::copy_options only(std::string name) {
    return ztensor::copy_options().select(
        [name = std::move(name)](const ztensor::object_view& object) { return object.name() == name; });
}

bytes file_of_things(ztensor::version from, const std::vector<thing>& things, bytes attributes) {
    std::vector<bytes> blobs;
    std::uint64_t offset = 64;
    cbor::map objects;
    for (const thing& each : things) {
        cbor::map components;
        for (const piece& one : each.pieces) {
            cbor::map fields = one.more;
            if (from != ztensor::version::v1_0) {
                fields.set("dtype", cbor::text(one.dtype));
            }
            fields.set("offset", cbor::number(offset)).set("length", cbor::number(one.stored.size()));
            components.set(one.role, fields);
            blobs.push_back(one.stored);
            offset += (one.stored.size() + 63) / 64 * 64;
        }
        cbor::map object = {
            {"shape", cbor::numbers(each.shape)}, {"format", cbor::text(each.format)}, {"components", components}};
        if (from == ztensor::version::v1_0) {
            object.set("dtype", cbor::text(each.pieces.front().dtype));
        }
        if (!each.attributes.empty()) {
            object.set("attributes", each.attributes);
        }
        objects.set(each.name, object);
    }
    cbor::map root = {{"version", cbor::text(support::version_text(from))}};
    root.set(from == ztensor::version::v1_0 ? "tensors" : "objects", objects);
    if (!attributes.empty()) {
        root.set("attributes", attributes);
    }
    return from == ztensor::version::v1_0 ? support::file_1_0(root.encoded(), blobs)
                                          : support::file_1(root.encoded(), blobs);
}

cbor::map zstd_of(std::uint64_t decoded_bytes) {
    return {{"encoding", cbor::text("zstd")}, {"uncompressed_length", cbor::number(decoded_bytes)}};
}

bytes u64(const integers& numbers) {
    return support::little_endian(numbers, 8);
}

bytes f32_bits(const integers& patterns) {
    return support::little_endian(patterns, 4);
}

bytes stored_of(const ztensor::component_view& component) {
    return support::as_string(component.bytes().value());
}

bytes decoded_of(const ztensor::component_view& component) {
    return support::as_string(component.read<std::byte>().value());
}

bytes decoded_of(const bytes& file, std::string_view object, std::string_view role) {
    const ztensor::reader from = support::opened(file);
    return decoded_of(from.find(object).value().component(role).value());
}

const std::vector<std::pair<std::string, bytes>> odd_values = {
    {"array of anything", cbor::indefinite_array({cbor::number(1), cbor::undefined, cbor::indefinite_array({})})},
    {"bignum", cbor::tag(2, cbor::byte_string("\1\2\3\4\5\6\7\x08\x09"))},
    {"chunks", cbor::chunked({"a", "", "bc"})},
    {"double that fits in 16 bits", cbor::double_one},
    {"keys twice", cbor::map{{"a", cbor::no}, {"a", cbor::yes}}},
    {"long head", cbor::head_of_size(cbor::major::unsigned_integer, 7, 8)},
    {"map of anything",
     cbor::map().add(cbor::number(1), cbor::no).add(cbor::byte_string("x"), cbor::null).indefinite()},
    {"nan of 16 bits", "\xf9\x7e\x01"},
    {"nan of 32 bits", "\xfa\xff\xc0\x12\x34"},
    {"nan of 64 bits", "\xfb\x7f\xf4\x00\x00\x00\x00\x00\x01"s},
    {"negative zero", "\xf9\x80\x00"s},
    {"simple", "\xf8\xff"},
    {"smallest integer", cbor::minus_one_minus(2 * ((std::uint64_t{1} << 63) - 1) + 1)},
    {"tags", cbor::tag(55799, cbor::tag(1, cbor::number(0)))},
    {"undefined", cbor::undefined},
    {"\xe9\x8d\xb5/../\n", cbor::byte_string(bytes(300, '\xff'))},
};

bytes odd_attributes() {
    cbor::map map;
    for (const auto& [key, value] : odd_values) {
        map.set(key, value);
    }
    return map.indefinite();
}

void check_odd_attributes(const ztensor::attributes_view& found) {
    CHECK(found.size() == odd_values.size());
    for (const auto& [key, value] : odd_values) {
        CAPTURE(key);
        CHECK(support::as_string(found.cbor(key).value()) == value);
    }
}

void check_verbatim(const bytes& file, const bytes& copy) {
    const ztensor::reader before = support::opened(file);
    const ztensor::reader after = support::opened(copy);
    REQUIRE(before.size() == after.size());
    for (const ztensor::object_view object : before) {
        INFO(std::string(object.name()));
        const ztensor::object_view twin = after.find(object.name()).value();
        CHECK(twin.format() == object.format());
        CHECK(twin.shape() == object.shape());
        REQUIRE(twin.size() == object.size());
        for (const ztensor::component_view component : object) {
            const ztensor::component_view other = twin.component(component.role()).value();
            CHECK(stored_of(other) == stored_of(component));
            CHECK(other.dtype().text() == component.dtype().text());
            CHECK(other.type() == component.type());
            CHECK(other.type().is_present() == component.type().is_present());
            CHECK(other.encoding().text() == component.encoding().text());
            CHECK(other.digest() == component.digest());
            CHECK(other.digest().is_present() == component.digest().is_present());
            CHECK(other.decoded_bytes() == component.decoded_bytes());
            if (component.encoding() != ztensor::encoding::raw) {
                CHECK(other.uncompressed_length() == component.uncompressed_length());
            }
        }
    }
}

const thing small = {"w", "dense", {2}, {{"data", "u8", "ab"}}};

const thing csr_thing = {"m",
                         "sparse_csr",
                         {2, 3},
                         {{"values", "f32", f32_bits({0x40a00000, 0x40e00000})},
                          {"indices", "u64", u64({0, 2})},
                          {"indptr", "u64", u64({0, 1, 2})}}};

const thing coo_thing = {"m",
                         "sparse_coo",
                         {2, 3},
                         {{"values", "f32", f32_bits({0x40a00000, 0x40e00000})}, {"coords", "u64", u64({0, 1, 0, 2})}}};

} // namespace things
