// SPDX-License-Identifier: MIT
//
// Copies between files of any two generations: nothing that the target can hold changes, and what it can't hold is
// refused by name. What must be in a copy of a golden file is what its description says, which this project did not
// write. SPEC.md §8.4 and §10.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/json.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::little_endian;
using support::part;
using support::refusal;
using support::sample;
using ztensor::component_view;
using ztensor::copy_options;
using ztensor::copy_progress;
using ztensor::csr_view;
using ztensor::digest_state;
using ztensor::errc;
using ztensor::error;
using ztensor::format_version;
using ztensor::generation;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;
namespace cbor = support::cbor;

using json = nlohmann::json;
using namespace std::string_literals;
using integers = std::vector<std::uint64_t>;

constexpr format_version versions[] = {format_version::v0_1, format_version::v1_1, format_version::v1_2};

constexpr std::string_view name_of(format_version version) {
    constexpr std::string_view names[] = {"0.1", "1.1", "1.2"};
    return names[static_cast<std::size_t>(version)];
}

bytes as_string(ztensor::bytes_view content) {
    bytes out;
    for (const std::byte byte : content) {
        out += static_cast<char>(byte);
    }
    return out;
}

reader opened(const bytes& file) { return reader::from_bytes(support::to_vector(file)).value(); }

writer to_memory(format_version version) { return writer::to_memory(write_options().version(version)).value(); }

bytes finished(writer& to) {
    to.finish().value();
    return as_string(to.take_bytes());
}

bytes copied(const bytes& file, format_version version, const copy_options& options = {}) {
    const reader from = opened(file);
    writer to = to_memory(version);
    const result<void> done = copy(from, to, options);
    INFO((done ? "" : done.error().what()));
    CHECK(done.has_value());
    return finished(to);
}

/// The error of a copy that must fail.
error failed_copy(const bytes& file, format_version version, const copy_options& options = {}) {
    const reader from = opened(file);
    writer to = to_memory(version);
    const result<void> done = copy(from, to, options);
    REQUIRE_FALSE(done.has_value());
    return done.error();
}

copy_options only(std::string name) {
    return copy_options().select([name = std::move(name)](const object_view& object) { return object.name() == name; });
}

// -- golden files and their descriptions

const std::filesystem::path golden_folder = "tests/corpus/golden";

struct golden_file {
    std::string name;
    bytes content;
    json description;

    [[nodiscard]] bool is_marked(const char* mark) const { return description.value(mark, "") == "identical"; }
    [[nodiscard]] std::string generation() const { return description.at("generation"); }
};

bytes load(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const std::vector<golden_file>& golden_files() {
    static const std::vector<golden_file> files = [] {
        std::vector<golden_file> found;
        for (const auto& entry : std::filesystem::directory_iterator(golden_folder)) {
            if (std::filesystem::path path = entry.path(); path.extension() == ".zt") {
                golden_file file{path.filename().string(), load(path), {}};
                std::ifstream in(path.replace_extension(".json"));
                file.description = json::parse(in);
                found.push_back(std::move(file));
            }
        }
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
        return found;
    }();
    return files;
}

format_version version_of(const std::string& generation) {
    return generation == "0.1" ? format_version::v0_1 : generation == "1.1" ? format_version::v1_1 : format_version::v1_2;
}

std::string hex(ztensor::bytes_view content) {
    std::string out;
    for (const std::byte byte : content) {
        constexpr char digits[] = "0123456789abcdef";
        out += digits[std::to_integer<unsigned>(byte) >> 4];
        out += digits[std::to_integer<unsigned>(byte) & 15];
    }
    return out;
}

std::string sha256(ztensor::bytes_view content) {
    return ztensor::digest_text(ztensor::digest::sha256, content).substr(std::string_view("sha256:").size());
}

std::string sha256(ztensor::span<const std::uint64_t> numbers) {
    bytes content;
    for (const std::uint64_t number : numbers) {
        content += little_endian(number, 8);
    }
    return sha256(support::to_vector(content));
}

/// Key → value, as a description gives it.
std::map<std::string, std::string> described_attributes(const json& list) {
    std::map<std::string, std::string> out;
    for (const json& each : list) { // none in null
        out[each.at("key")] = each.contains("cbor") ? each.at("cbor").get<std::string>() : each.at("cbor_sha256").get<std::string>();
    }
    return out;
}

std::map<std::string, std::string> found_attributes(const ztensor::attributes_view& attributes) {
    std::map<std::string, std::string> out;
    for (const ztensor::attribute& each : attributes) {
        out[std::string(each.key)] = each.cbor.size() <= 256 ? hex(each.cbor) : sha256(each.cbor);
    }
    return out;
}

bool is_sparse(const json& object) { return object.at("format") == "sparse_csr" || object.at("format") == "sparse_coo"; }

bool has_known_words(const json& object) {
    for (const json& component : object.at("components")) {
        if (component.at("dtype") == "f128" || component.at("encoding") == "lz4") {
            return false;
        }
    }
    return true;
}

/// By the rules of SPEC.md §10.4 and §10.5, from the description alone.
bool is_expressible(const json& object, format_version target) {
    for (const json& component : object.at("components")) {
        const std::string type = component.value("type", "");
        const bool has_word_in_1_1 = type == "f8_e4m3fn" || type == "f8_e5m2" || type == "complex64" || type == "complex128";
        const bool says_nothing = type.empty() || type == component.at("dtype");
        if (!says_nothing && (target == format_version::v0_1 || (target == format_version::v1_1 && !has_word_in_1_1))) {
            return false;
        }
        const std::string encoding = component.at("encoding");
        if (target != format_version::v1_2 && component.contains("uncompressed_length") && encoding != "raw" && encoding != "zstd") {
            return false;
        }
    }
    return target != format_version::v0_1 || is_sparse(object) || object.at("format") == "dense";
}

void check_digest(const component_view& component, const json& described) {
    const std::string text = described.value("digest", "");
    const std::string algorithm = text.substr(0, text.find(':'));
    const digest_state state = component.verify().value();
    CHECK(std::string(component.digest()).substr(0, component.digest().find(':')) == algorithm);
    CHECK(state == (text.empty()                         ? digest_state::absent
                    : described.at("digest_state") == "match" ? digest_state::match
                                                         : digest_state::unsupported));
}

void check_component(const component_view& component, const json& described) {
    CHECK(std::string(component.dtype_name()) == described.at("dtype").get<std::string>());
    CHECK(std::string(component.encoding_name()) == described.at("encoding").get<std::string>());
    const std::string type = described.value("type", "");
    CHECK((component.type() == type || type == described.at("dtype"))); // a type that says nothing may be left out
    check_digest(component, described);
    if (!component.encoding()) {
        CHECK(sha256(component.bytes().value()) == described.at("stored_sha256").get<std::string>());
        return;
    }
    const char* const key = described.contains("byte_order") ? "decoded_little_endian_sha256" : "decoded_sha256";
    CHECK(sha256(component.read_little_endian().value()) == described.at(key).get<std::string>());
}

template <class View>
const View& check_values(const View& view, const json& described) {
    CHECK(sha256(view.values()) == described.at("values_sha256").get<std::string>());
    CHECK(view.entry_count() == described.at("nnz").get<std::size_t>());
    return view;
}

void check_sparse(const object_view& object, const json& described) {
    if (described.contains("csr")) {
        const auto view = csr_view<std::byte>::from(object).value();
        const json& csr = described.at("csr");
        check_values(view, csr);
        CHECK(sha256(view.indptr()) == csr.at("indptr_u64_sha256").get<std::string>());
        CHECK(sha256(view.indices()) == csr.at("indices_u64_sha256").get<std::string>());
    } else {
        const auto view = ztensor::coo_view<std::byte>::from(object).value();
        CHECK(sha256(check_values(view, described.at("coo")).coords()) == described.at("coo").at("coords_u64_soa_sha256").get<std::string>());
    }
    const json& parts = described.at("components");
    const json& values = parts.contains("values") ? parts.at("values") : parts.at("data");
    for (const component_view component : object) {
        CHECK(component.encoding_name() == values.at("encoding").get<std::string>());
        check_digest(component, values);
        if (component.role() == "values" || component.role() == "data") {
            CHECK(component.dtype_name() == values.at("dtype").get<std::string>());
        } else {
            CHECK(component.dtype() == ztensor::dtype::u64);
        }
    }
}

void check_object(const object_view& object, const json& described) {
    INFO(described.at("name").get<std::string>());
    CHECK(object.shape() == ztensor::shape(ztensor::span<const std::uint64_t>(described.at("shape").get<integers>())));
    CHECK(object.format() == described.at("format").get<std::string>());
    CHECK(found_attributes(object.attributes()) == described_attributes(described.at("attributes")));
    if (is_sparse(described)) {
        check_sparse(object, described);
        return;
    }
    CHECK(object.size() == described.at("components").size());
    for (const auto& [role, component] : described.at("components").items()) {
        INFO(role);
        check_component(object.component(role).value(), component);
    }
}

/// A copy holds what the description says, as far as its version can hold it.
void check_copy(const bytes& copy, const golden_file& original, format_version target) {
    const reader file = opened(copy);
    std::size_t expected = 0;
    for (const json& object : original.description.at("objects")) {
        if (is_expressible(object, target) && (has_known_words(object) || target != format_version::v0_1)) {
            const std::string name = object.at("name");
            check_object(file.find(name).value(), object);
            ++expected;
        }
    }
    CHECK(file.size() == expected);
    if (target != format_version::v0_1) {
        CHECK(found_attributes(file.attributes()) == described_attributes(original.description.at("attributes")));
        CHECK(file.has_attributes() == !original.description.at("attributes").is_null());
    }
}

/// Everything that `target` can hold.
copy_options expressible(const golden_file& file, format_version target) {
    std::vector<std::string> names;
    for (const json& object : file.description.at("objects")) {
        if (is_expressible(object, target) && (has_known_words(object) || target != format_version::v0_1)) {
            names.push_back(object.at("name"));
        }
    }
    return copy_options().file_attributes(target != format_version::v0_1).select([names](const object_view& object) {
        return std::find(names.begin(), names.end(), object.name()) != names.end();
    });
}

bool is_expressible_whole(const golden_file& file, format_version target) {
    const json& objects = file.description.at("objects");
    return std::all_of(objects.begin(), objects.end(), [&](const json& object) { return is_expressible(object, target); });
}

} // namespace

TEST_CASE("a golden file marked so is copied byte for byte, in its own version") {
    int count = 0;
    for (const golden_file& file : golden_files()) {
        if (file.is_marked("copy")) {
            INFO(file.name);
            CHECK(copied(file.content, version_of(file.generation())) == file.content);
            ++count;
        }
    }
    CHECK(count >= 15);
}

TEST_CASE("a golden file marked so is encoded anew byte for byte, in its own version") {
    int count = 0;
    for (const golden_file& file : golden_files()) {
        if (file.is_marked("rewrite")) {
            INFO(file.name);
            CHECK(copied(file.content, version_of(file.generation()), copy_options().reencode()) == file.content);
            ++count;
        }
    }
    CHECK(count >= 6);
}

TEST_CASE("a golden file keeps every value that another version can hold") {
    for (const golden_file& file : golden_files()) {
        for (const format_version target : versions) {
            INFO(file.name << " to " << name_of(target));
            check_copy(copied(file.content, target, expressible(file, target)), file, target);
        }
    }
}

TEST_CASE("a golden file encoded anew keeps every value that another version can hold") {
    for (const golden_file& file : golden_files()) {
        if (file.name == "s1.2-unknown-vocabulary.zt") { // which can't be decoded
            continue;
        }
        for (const format_version target : versions) {
            INFO(file.name << " to " << name_of(target));
            check_copy(copied(file.content, target, expressible(file, target).reencode()), file, target);
        }
    }
}

TEST_CASE("a golden file's objects that a version can't hold are refused, each by name") {
    int count = 0;
    for (const golden_file& file : golden_files()) {
        for (const format_version target : versions) {
            for (const json& object : file.description.at("objects")) {
                if (is_expressible(object, target)) {
                    continue;
                }
                const std::string name = object.at("name");
                INFO(file.name << " to " << name_of(target) << ": " << name);
                const error why = failed_copy(file.content, target, only(name).file_attributes(false));
                CHECK(why.code() == errc::not_expressible);
                CHECK(why.object() == name);
                ++count;
            }
        }
    }
    CHECK(count >= 15);
}

TEST_CASE("0.1 to a later version and back keeps every value, and every byte where nothing had to change") {
    int identical = 0;
    for (const golden_file& file : golden_files()) {
        if (file.generation() != "0.1") {
            continue;
        }
        // What is swapped stays swapped, and what was compressed as one blob is compressed anew.
        bool is_changed = false;
        for (const json& object : file.description.at("objects")) {
            const json& data = object.at("components").at("data");
            is_changed = is_changed || data.contains("byte_order") || (is_sparse(object) && data.at("encoding") == "zstd");
        }
        for (const format_version by_way_of : {format_version::v1_1, format_version::v1_2}) {
            INFO(file.name << " by way of " << name_of(by_way_of));
            const bytes back = copied(copied(file.content, by_way_of), format_version::v0_1);
            check_copy(back, file, format_version::v0_1);
            if (file.is_marked("copy") && !is_changed) {
                CHECK(back == file.content);
                ++identical;
            }
        }
    }
    CHECK(identical >= 6);
}

TEST_CASE("1.1 to 1.2 and back, and 1.2 to 1.1 and back, keeps every value and every byte") {
    int identical = 0;
    for (const golden_file& file : golden_files()) {
        const format_version own = version_of(file.generation());
        if (file.generation() != "1.1" && file.generation() != "1.2") {
            continue;
        }
        const format_version other = own == format_version::v1_1 ? format_version::v1_2 : format_version::v1_1;
        INFO(file.name);
        const bytes back = copied(copied(file.content, other, expressible(file, other)), own);
        const bool says_nothing_new = file.name != "v1.2-logical-types.zt";
        if (is_expressible_whole(file, other)) {
            check_copy(back, file, own);
        }
        if (file.is_marked("copy") && is_expressible_whole(file, other) && says_nothing_new) {
            CHECK(back == file.content);
            ++identical;
        }
    }
    CHECK(identical >= 9);
}

TEST_CASE("later versions to 0.1 and back keep every value that 0.1 can hold") {
    for (const golden_file& file : golden_files()) {
        if (file.generation() == "0.1") {
            continue;
        }
        INFO(file.name);
        const bytes in_0_1 = copied(file.content, format_version::v0_1, expressible(file, format_version::v0_1));
        for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
            const reader back = opened(copied(in_0_1, target));
            for (const json& object : file.description.at("objects")) {
                if (is_expressible(object, format_version::v0_1) && has_known_words(object)) {
                    check_object(back.find(object.at("name").get<std::string>()).value(), object);
                }
            }
        }
    }
}

// -- files made by hand

namespace {

/// A component of a file made here.
struct piece {
    std::string role;
    std::string dtype;
    bytes stored;
    cbor::map more = {};
};

struct thing {
    std::string name;
    std::string format;
    integers shape;
    std::vector<piece> pieces;
    bytes attributes = {}; ///< encoded; none if empty
};

/// 1.0, 1.1 or 1.2.
bytes file_of(generation from, const std::vector<thing>& things, bytes attributes = {}) {
    std::vector<bytes> blobs;
    std::uint64_t offset = 64;
    cbor::map objects;
    for (const thing& each : things) {
        cbor::map components;
        for (const piece& one : each.pieces) {
            cbor::map fields = one.more;
            if (from != generation::v1_0) {
                fields.set("dtype", cbor::text(one.dtype));
            }
            fields.set("offset", cbor::number(offset)).set("length", cbor::number(one.stored.size()));
            components.set(one.role, fields);
            blobs.push_back(one.stored);
            offset += (one.stored.size() + 63) / 64 * 64;
        }
        cbor::map object = {{"shape", cbor::numbers(each.shape)}, {"format", cbor::text(each.format)}, {"components", components}};
        if (from == generation::v1_0) {
            object.set("dtype", cbor::text(each.pieces.front().dtype));
        }
        if (!each.attributes.empty()) {
            object.set("attributes", each.attributes);
        }
        objects.set(each.name, object);
    }
    constexpr std::string_view texts[] = {"", "1.0", "1.1.0", "1.2.0"};
    cbor::map root = {{"version", cbor::text(texts[static_cast<std::size_t>(from)])}};
    root.set(from == generation::v1_0 ? "tensors" : "objects", objects);
    if (!attributes.empty()) {
        root.set("attributes", attributes);
    }
    return from == generation::v1_0 ? support::file_1_0(root.encoded(), blobs) : support::file_1(root.encoded(), blobs);
}

cbor::map zstd_of(std::uint64_t decoded_bytes) {
    return {{"encoding", cbor::text("zstd")}, {"uncompressed_length", cbor::number(decoded_bytes)}};
}

bytes frame_of(const bytes& content) { return support::zstd::frame(support::zstd::raw_block(content)); }

bytes stored_of(const component_view& component) { return as_string(component.bytes().value()); }

bytes decoded_of(const component_view& component) { return as_string(component.read<std::byte>().value()); }

bytes decoded_of(const bytes& file, std::string_view object, std::string_view role = "data") {
    const reader from = opened(file);
    return decoded_of(from.find(object).value().component(role).value());
}

bytes u64(const integers& numbers) {
    bytes out;
    for (const std::uint64_t number : numbers) {
        out += little_endian(number, 8);
    }
    return out;
}

bytes f32_bits(const std::vector<std::uint32_t>& patterns) {
    bytes out;
    for (const std::uint32_t pattern : patterns) {
        out += little_endian(pattern, 4);
    }
    return out;
}

bytes crc32c_of(const bytes& content) { return ztensor::digest_text(ztensor::digest::crc32c, support::to_vector(content)); }

const std::uint64_t two_to_63 = std::uint64_t{1} << 63;

/// Values that JSON, and most libraries of CBOR, have no place for.
const std::vector<std::pair<std::string, bytes>> odd_values = {
    {"array of anything", cbor::indefinite_array({cbor::number(1), cbor::undefined, cbor::indefinite_array({})})},
    {"bignum", cbor::tag(2, cbor::byte_string("\1\2\3\4\5\6\7\x08\x09"))},
    {"chunks", cbor::chunked({"a", "", "bc"})},
    {"double that fits in 16 bits", cbor::double_one},
    {"keys twice", cbor::map{{"a", cbor::no}, {"a", cbor::yes}}},
    {"long head", cbor::head_of_size(cbor::major::unsigned_integer, 7, 8)},
    {"map of anything", cbor::map().add(cbor::number(1), cbor::no).add(cbor::byte_string("x"), cbor::null).indefinite()},
    {"nan of 16 bits", "\xf9\x7e\x01"},
    {"nan of 32 bits", "\xfa\xff\xc0\x12\x34"},
    {"nan of 64 bits", "\xfb\x7f\xf4\x00\x00\x00\x00\x00\x01"s},
    {"negative zero", "\xf9\x80\x00"s},
    {"simple", "\xf8\xff"},
    {"smallest integer", cbor::minus_one_minus(2 * (two_to_63 - 1) + 1)},
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
        CHECK(as_string(found.cbor(key).value()) == value);
    }
}

const thing small = {"w", "dense", {2}, {{"data", "u8", "ab"}}};

} // namespace

// -- attributes

TEST_CASE("attributes of any value survive byte for byte, through every version that has them") {
    thing object = small;
    object.attributes = odd_attributes();
    for (const generation from : {generation::v1_1, generation::v1_2}) {
        const bytes file = file_of(from, {object}, odd_attributes());
        for (const format_version first : {format_version::v1_1, format_version::v1_2}) {
            for (const format_version second : {format_version::v1_1, format_version::v1_2}) {
                CAPTURE(name(from), name_of(first), name_of(second));
                const reader copy = opened(copied(copied(file, first), second));
                check_odd_attributes(copy.attributes());
                check_odd_attributes(copy.find("w").value().attributes());
            }
        }
        const reader by_way_of_0_1 =
            opened(copied(copied(file, format_version::v0_1, copy_options().file_attributes(false)), format_version::v1_2));
        check_odd_attributes(by_way_of_0_1.find("w").value().attributes());
        CHECK_FALSE(by_way_of_0_1.has_attributes());
    }
    const bytes in_1_0 = file_of(generation::v1_0, {{"w", "dense", {2}, {{"data", "uint8", "ab"}}}}, odd_attributes());
    const reader from_1_0 = opened(copied(in_1_0, format_version::v1_2));
    check_odd_attributes(from_1_0.attributes());
}

TEST_CASE("custom keys of 0.1 become attributes, and custom keys again") {
    sample file(generation::v0_1);
    for (const auto& [key, value] : odd_values) {
        file.object_map().add(cbor::text(key), value);
    }
    for (const format_version by_way_of : versions) {
        const bytes once = copied(file.file(), by_way_of);
        const reader copy = opened(once);
        check_odd_attributes(copy.find("w").value().attributes());
        const reader back = opened(copied(once, format_version::v0_1));
        check_odd_attributes(back.find("w").value().attributes());
    }
}

TEST_CASE("no attributes and no attributes at all stay two things") {
    thing with_none = small;
    with_none.attributes = cbor::map().encoded();
    for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
        const reader empty = opened(copied(file_of(generation::v1_2, {with_none}, cbor::map().encoded()), target));
        CHECK(empty.has_attributes());
        CHECK(empty.attributes().empty());
        CHECK(empty.find("w").value().has_attributes());
        const reader none = opened(copied(file_of(generation::v1_2, {small}), target));
        CHECK_FALSE(none.has_attributes());
        CHECK_FALSE(none.find("w").value().has_attributes());
    }
    CHECK(opened(copied(file_of(generation::v1_2, {with_none}, cbor::map().encoded()), format_version::v0_1)).size() == 1);
}

TEST_CASE("attributes of the file are left out where that is asked for") {
    const bytes file = file_of(generation::v1_2, {small}, odd_attributes());
    CHECK_FALSE(opened(copied(file, format_version::v1_2, copy_options().file_attributes(false))).has_attributes());
    CHECK(opened(copied(file, format_version::v0_1, copy_options().file_attributes(false))).size() == 1);
}

// -- unknown words

namespace {

/// Every word that can be unknown, alone and beside others; bools among them, which a copy may have to look at.
std::vector<thing> unknown_things() {
    return {
        {"dtype", "dense", {3}, {{"data", "f128", "any size at all"}}},
        {"dtype, compressed", "dense", {3}, {{"data", "i4", frame_of("twelve bytes"), zstd_of(12)}}},
        {"type", "dense", {32}, {{"data", "u8", bytes(16, 'x'), {{"type", cbor::text("f4_e2m1x2")}}}}},
        {"encoding", "dense", {4}, {{"data", "f32", "any size", {{"encoding", cbor::text("lz4")}, {"uncompressed_length", cbor::number(16)}}}}},
        {"encoding without size", "dense", {4}, {{"data", "f32", "any", {{"encoding", cbor::text("")}}}}},
        {"digest", "dense", {2}, {{"data", "u8", "ab", {{"digest", cbor::text("blake3:abcdef")}}}}},
        {"format", "block_sparse", {2, 2}, {{"blocks", "f32", bytes(16, 'b')}, {"mask", "bool", "\1\0\1\0"s}}},
        {"all", "own", {7}, {{"role", "f24", "???", {{"type", cbor::text("?")}, {"encoding", cbor::text("??")}, {"digest", cbor::text("?:?")}}}}},
        {"type over bools", "dense", {4}, {{"data", "bool", "\1\0\1\0"s, {{"type", cbor::text("mask")}}}}},
        {"more roles", "dense", {2}, {{"data", "u8", "ab"}, {"more", "f128", "cd"}}},
        {"a type of no letters", "dense", {2}, {{"data", "f32", bytes(4, 'x'), {{"type", cbor::text("")}}}}},
        {"a digest of no letters", "dense", {2}, {{"data", "u8", "ab", {{"digest", cbor::text("")}}}}},
        {"a dtype that is one in 0.1", "dense", {2}, {{"data", "float32", "ab"}}},
        {"a dtype that is one in 1.1", "dense", {2}, {{"data", "complex64", "ab"}}},
    };
}

void check_verbatim(const bytes& file, const bytes& copy) {
    const reader before = opened(file);
    const reader after = opened(copy);
    REQUIRE(before.size() == after.size());
    for (const object_view object : before) {
        INFO(std::string(object.name()));
        const object_view twin = after.find(object.name()).value();
        CHECK(twin.format() == object.format());
        CHECK(twin.shape() == object.shape());
        REQUIRE(twin.size() == object.size());
        for (const component_view component : object) {
            const component_view other = twin.component(component.role()).value();
            CHECK(stored_of(other) == stored_of(component));
            CHECK(other.dtype_name() == component.dtype_name());
            CHECK(other.type() == component.type());
            CHECK(other.has_type() == component.has_type());
            CHECK(other.encoding_name() == component.encoding_name());
            CHECK(other.digest() == component.digest());
            CHECK(other.has_digest() == component.has_digest());
            CHECK(other.decoded_bytes() == component.decoded_bytes());
            if (component.encoding() != ztensor::encoding::raw) {
                CHECK(other.uncompressed_length() == component.uncompressed_length());
            }
        }
    }
}

} // namespace

TEST_CASE("unknown words survive a copy to the same version, and their blobs are as they were") {
    const bytes file = file_of(generation::v1_2, unknown_things());
    check_verbatim(file, copied(file, format_version::v1_2));
    const golden_file golden = [] {
        for (const golden_file& each : golden_files()) {
            if (each.name == "s1.2-unknown-vocabulary.zt") {
                return each;
            }
        }
        return golden_file();
    }();
    check_verbatim(golden.content, copied(golden.content, format_version::v1_2));
    // Twice the same: nothing of the first copy differs from what the second is given.
    CHECK(copied(copied(file, format_version::v1_2), format_version::v1_2) == copied(file, format_version::v1_2));
}

TEST_CASE("bools in an unknown encoding are copied as they are stored") {
    const bytes file = file_of(generation::v1_2, {{"w", "dense", {4}, {{"data", "bool", "any", {{"encoding", cbor::text("lz4")}}}}}});
    for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
        const result<void> done = [&] {
            const reader from = opened(file);
            writer to = to_memory(target);
            return copy(from, to);
        }();
        INFO((done ? "" : done.error().what()));
        CHECK(done.has_value());
    }
}

TEST_CASE("what is copied as it is stored is not decoded, nor its digest checked") {
    const std::vector<thing> things = {
        {"no zstd frame", "dense", {8}, {{"data", "u8", "zzzz", zstd_of(8)}}},
        {"another digest", "dense", {2}, {{"data", "u8", "ab", {{"digest", cbor::text("crc32c:0x00000000")}}}}},
    };
    const bytes file = file_of(generation::v1_2, things);
    check_verbatim(file, copied(file, format_version::v1_2));
    for (const thing& each : things) {
        const error why = failed_copy(file, format_version::v1_2, only(each.name).reencode());
        CHECK((why.code() == errc::decode_failed || why.code() == errc::digest_mismatch));
        CHECK(why.object() == each.name);
        CHECK(why.component() == "data");
    }
}

TEST_CASE("what can't be decoded can't be encoded anew, and the error says why") {
    const bytes file = file_of(generation::v1_2, unknown_things());
    CHECK(failed_copy(file, format_version::v1_2, only("dtype").reencode()).code() == errc::unknown_dtype);
    CHECK(failed_copy(file, format_version::v1_2, only("encoding").reencode()).code() == errc::unsupported_encoding);
    const reader again = opened(copied(file, format_version::v1_2, only("type").reencode()));
    CHECK(again.find("type").value().component("data")->type() == "f4_e2m1x2");
    const reader without = opened(copied(file, format_version::v1_2, only("digest").reencode()));
    CHECK(without.find("digest").value().component("data")->digest().empty()); // of bytes that may be new
}

// -- what a version can't hold

namespace {

struct inexpressible {
    const char* rule;
    format_version target;
    bytes file;
    const char* named; ///< in the message
};

const thing csr_thing = {"m", "sparse_csr", {2, 3},
                         {{"values", "f32", f32_bits({0x40a00000, 0x40e00000})}, {"indices", "u64", u64({0, 2})}, {"indptr", "u64", u64({0, 1, 2})}}};
const thing coo_thing = {"m", "sparse_coo", {2, 3}, {{"values", "f32", f32_bits({0x40a00000, 0x40e00000})}, {"coords", "u64", u64({0, 1, 0, 2})}}};

thing with_piece(thing object, piece added) {
    object.pieces.push_back(std::move(added));
    return object;
}
thing with_type(thing object, const char* type) {
    object.pieces.front().more.set("type", cbor::text(type));
    return object;
}
thing with_attribute(thing object, const char* key) {
    object.attributes = cbor::map{{key, cbor::null}}.encoded();
    return object;
}

} // namespace

TEST_CASE("what the target's version can't hold is refused by name, and nothing of the object is written") {
    const auto v0_1 = format_version::v0_1;
    const auto v1_1 = format_version::v1_1;
    const auto file = [](const thing& object) { return file_of(generation::v1_2, {object}); };
    const inexpressible rows[] = {
        {"a logical type in 1.1", v1_1, file(with_type(small, "f8_e4m3fnuz")), "f8_e4m3fnuz"},
        {"an unknown logical type in 1.1", v1_1, file(with_type(small, "q4.4")), "q4.4"},
        {"a logical type in 0.1", v0_1, file(with_type(small, "f8_e4m3fn")), "f8_e4m3fn"},
        {"a dtype of 1.1 in 0.1", v0_1, file_of(generation::v1_1, {{"w", "dense", {1}, {{"data", "complex64", bytes(8, 'c')}}}}), "complex64"},
        {"a known type over a dtype that is unknown", v1_1, file({"w", "dense", {1}, {{"data", "f32x", "any", {{"type", cbor::text("complex64")}}}}}), "complex64"},
        {"a dtype that has a meaning in 1.1", v1_1, file({"w", "dense", {1}, {{"data", "complex64", "any"}}}), "complex64"},
        {"a dtype that has a meaning in 0.1", v0_1, file({"w", "dense", {1}, {{"data", "float32", "any"}}}), "float32"},
        {"the size of what is in an unknown encoding, in 1.1", v1_1, file({"w", "dense", {4}, {{"data", "u8", "any", {{"encoding", cbor::text("lz4")}, {"uncompressed_length", cbor::number(4)}}}}}), "lz4"},
        {"two digests in one sparse object of 0.1", v0_1, file({"m", "sparse_coo", {3}, {{"values", "f32", bytes(4, 'c')}, {"coords", "u64", u64({1}), {{"digest", cbor::text("crc32c:0x00000000")}}}}}), "digests"},
        {"two encodings in one sparse object of 0.1", v0_1, file({"m", "sparse_coo", {3}, {{"values", "f32", bytes(4, 'c')}, {"coords", "u64", frame_of(u64({1})), zstd_of(8)}}}), "encodings"},
        {"quantized weights in 0.1", v0_1, file({"w", "quantized_group", {2}, {{"packed_weight", "u8", "a"}, {"scales", "u8", "b"}, {"zeros", "u8", "c"}}}), "quantized_group"},
        {"a format of several components in 0.1", v0_1, file({"w", "own", {2}, {{"a", "u8", "a"}, {"b", "u8", "b"}}}), "own"},
        {"more components than dense has in 0.1", v0_1, file(with_piece(small, {"mask", "u8", "c"})), "component"},
        {"a field of 0.1 as an attribute", v0_1, file(with_attribute(small, "offset")), "offset"},
        {"the name as an attribute", v0_1, file(with_attribute(small, "name")), "name"},
        {"the checksum as an attribute", v0_1, file(with_attribute(small, "checksum")), "checksum"},
        {"the layout as an attribute of a sparse object", v0_1, file(with_attribute(csr_thing, "layout")), "layout"},
        {"complex numbers in a sparse matrix of 0.1", v0_1, file({"m", "sparse_coo", {3}, {{"values", "f32", bytes(8, 'c'), {{"type", cbor::text("complex64")}}}, {"coords", "u64", u64({1})}}}), "complex64"},
    };
    for (const inexpressible& row : rows) {
        CAPTURE(row.rule);
        const reader from = opened(row.file);
        writer to = to_memory(row.target);
        to.add("first", {2}, std::vector<std::uint8_t>{1, 2}).value();
        const result<void> done = copy(from, to);
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().code() == errc::not_expressible);
        CHECK(done.error().object() == std::string(from.begin().operator*().name()));
        CAPTURE(done.error().what());
        CHECK(done.error().what().find(row.named) != std::string::npos);
        writer untouched = to_memory(row.target);
        untouched.add("first", {2}, std::vector<std::uint8_t>{1, 2}).value();
        CHECK(finished(to) == finished(untouched));
    }
}

TEST_CASE("a sparse object with more components than its format has is not expressible in 0.1") {
    for (const thing& object : {csr_thing, coo_thing}) {
        const bytes file = file_of(generation::v1_2, {with_piece(object, {"mask", "u8", "ab"})});
        const reader from = opened(file);
        writer to = to_memory(format_version::v0_1);
        const result<void> done = copy(from, to);
        REQUIRE_FALSE(done.has_value()); // else the mask is lost without a word
        CHECK(done.error().code() == errc::not_expressible);
    }
}

TEST_CASE("a format of its own with one component is not expressible in 0.1") {
    for (const char* const format : {"own", "sparsecsr", "sparse"}) {
        CAPTURE(format);
        const reader from = opened(file_of(generation::v1_2, {{"w", format, {2, 2}, {{"data", "u8", "any"}}}}));
        writer to = to_memory(format_version::v0_1);
        const result<void> done = copy(from, to);
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().code() == errc::not_expressible);
        CHECK(done.error().what().find(format) != std::string::npos);
    }
}

TEST_CASE("an unknown layout of 0.1 is copied within 0.1, and becomes a format in later versions") {
    sample file(generation::v0_1);
    file.object("layout", cbor::text("blocked")).object("custom", cbor::number(7)).blob("any four");
    for (const format_version target : versions) {
        const reader copy = opened(copied(file.file(), target));
        const object_view object = copy.find("w").value();
        CHECK(object.format() == "blocked");
        CHECK(object.original_format() == "blocked");
        CHECK(decoded_of(object.component("data").value()) == "any four");
        CHECK(object.attributes().integer("custom").value() == 7);
    }
}

TEST_CASE("the blob of an unknown layout of 0.1 stays as it is, or is refused where its byte order would change") {
    sample bools(generation::v0_1);
    bools.object("layout", cbor::text("blocked")).dtype("bool").shape({4}).blob("\5\0\7\xc8"s);
    sample big(generation::v0_1);
    big.object("layout", cbor::text("blocked")).object("data_endianness", cbor::text("big")).blob("01234567");
    for (const format_version target : versions) {
        const reader copy = opened(copied(bools.file(), target));
        CHECK(decoded_of(copy.find("w")->component("data").value()) == "\5\0\7\xc8"s);
    }
    CHECK(failed_copy(big.file(), format_version::v1_2).code() == errc::not_expressible);
    CHECK(failed_copy(big.file(), format_version::v1_1).code() == errc::not_expressible);
    const reader within = opened(copied(big.file(), format_version::v0_1));
    CHECK(within.find("w")->component("data")->is_big_endian());
    CHECK(decoded_of(within.find("w")->component("data").value()) == "01234567");
}

TEST_CASE("the byte order of an unknown dtype of 0.1 is kept, or refused") {
    sample file(generation::v0_1);
    file.object("dtype", cbor::text("float128")).object("data_endianness", cbor::text("big"));
    CHECK(failed_copy(file.file(), format_version::v1_2).code() == errc::not_expressible);
    const reader within = opened(copied(file.file(), format_version::v0_1));
    CHECK(within.find("w")->component("data")->is_big_endian());
    CHECK(within.find("w")->component("data")->original_dtype() == "float128");
}

TEST_CASE("a layout of 0.1 that is spelled as later versions do is unknown, and does not become known in a copy") {
    for (const char* const spelling : {"sparse_coo", "sparse_csr", "quantized_group"}) {
        sample file(generation::v0_1);
        file.object("layout", cbor::text(spelling));
        for (const format_version target : versions) {
            CAPTURE(spelling, name_of(target));
            if (target == format_version::v0_1 && spelling == "quantized_group"s) { // unknown there, and so in the copy
                const reader copy = opened(copied(file.file(), target));
                CHECK(copy.find("w")->format() == spelling);
            } else {
                CHECK(failed_copy(file.file(), target).code() == errc::not_expressible);
            }
        }
    }
}

TEST_CASE("a sparse object whose data is damaged is not given a new digest") {
    const cbor::map wrong = {{"digest", cbor::text("crc32c:0x00000000")}};
    const auto damaged = [&](generation from, const char* index_dtype, const bytes& indices) {
        return file_of(from, {{"m", "sparse_coo", {3}, {{"values", "f32", bytes(4, 'c'), wrong}, {"coords", index_dtype, indices, wrong}}}});
    };
    sample in_0_1(generation::v0_1);
    in_0_1.shape({3}).object("layout", cbor::text("sparsecoo")).blob(u64({1}) + bytes(4, 'c')).object("checksum", cbor::text("crc32c:0x00000000"));
    CHECK(failed_copy(damaged(generation::v1_2, "u64", u64({1})), format_version::v0_1).code() == errc::digest_mismatch);
    CHECK(failed_copy(damaged(generation::v1_1, "i32", "\1\0\0\0"s), format_version::v1_2).code() == errc::digest_mismatch);
    CHECK(failed_copy(in_0_1.file(), format_version::v1_2).code() == errc::digest_mismatch);
}

TEST_CASE("a copy that is made while another one goes on mixes no blobs up") {
    const reader outer = opened(file_of(generation::v1_2, {{"a", "dense", {1}, {{"data", "u8", "1"}}}, {"b", "dense", {1}, {{"data", "u8", "2"}}}}));
    const reader inner = opened(file_of(generation::v1_2, {{"c", "dense", {1}, {{"data", "u8", "7"}}}}));
    writer to = to_memory(format_version::v1_2);
    copy(outer, to, copy_options().progress([&](const copy_progress& progress) {
        const auto stored = inner.find("c")->data().value();
        const std::string name = "by hand beside " + std::string(progress.object);
        to.add_object(name, ztensor::object_draft("dense", {1}).component_stored("data", stored)).value();
        copy(inner, to, copy_options().rename([&](std::string_view) { return "copied beside " + std::string(progress.object); })).value();
        return true;
    })).value();
    const reader copy = opened(finished(to));
    CHECK(decoded_of(copy.find("a")->data().value()) == "1");
    CHECK(decoded_of(copy.find("b")->data().value()) == "2");
    for (const char* const name : {"by hand beside a", "copied beside a", "by hand beside b", "copied beside b"}) {
        CHECK(decoded_of(copy.find(name)->data().value()) == "7");
    }
}

TEST_CASE("an unknown logical type does not become none where data is encoded anew") {
    const auto typed = [](const char* type) { return cbor::map{{"type", cbor::text(type)}}; };
    const bytes dense = file_of(generation::v1_2, {{"w", "dense", {1}, {{"data", "f32", bytes(4, 'c'), typed("")}}}});
    const bytes sparse = file_of(generation::v1_2, {{"m", "sparse_coo", {3}, {{"values", "f32", bytes(4, 'c'), typed("")}, {"coords", "u64", u64({1})}}}});
    for (const format_version target : {format_version::v0_1, format_version::v1_1}) {
        CHECK(failed_copy(dense, target, copy_options().reencode()).code() == errc::not_expressible);
        CHECK(failed_copy(sparse, target, copy_options().reencode()).code() == errc::not_expressible);
    }
    CHECK(failed_copy(sparse, format_version::v0_1).code() == errc::not_expressible);
    const reader anew = opened(copied(dense, format_version::v1_2, copy_options().reencode()));
    CHECK(anew.find("w")->data()->has_unknown_type());
    CHECK(anew.find("w")->data()->type().empty());
    // In 1.1 the first word makes it complex, and the second contradicts that.
    const bytes torn = file_of(generation::v1_1, {{"w", "dense", {1}, {{"data", "complex64", bytes(8, 'c'), typed("f32")}}}});
    for (const format_version target : versions) {
        CHECK(failed_copy(torn, target).code() == errc::not_expressible);
    }
}

TEST_CASE("a dtype of no letters is as unknown in the copy") {
    const bytes file = file_of(generation::v1_1, {{"w", "dense", {1}, {{"data", "", "any"}}}});
    for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
        const reader copy = opened(copied(file, target));
        CHECK_FALSE(copy.find("w")->data()->dtype().has_value());
        CHECK(decoded_of(copy.find("w")->data().value()) == "any");
    }
}

TEST_CASE("attributes of the file are added to those that the target has") {
    const reader from = opened(file_of(generation::v1_2, {small}, cbor::map{{"a", cbor::number(1)}, {"b", cbor::number(2)}}.encoded()));
    writer to = to_memory(format_version::v1_2);
    to.attributes(ztensor::attributes().set("b", 7).set("c", 3)).value();
    copy(from, to).value();
    const reader copy = opened(finished(to));
    CHECK(copy.attributes().size() == 3);
    CHECK(copy.attributes().integer("a").value() == 1);
    CHECK(copy.attributes().integer("b").value() == 2);
    CHECK(copy.attributes().integer("c").value() == 3);
}

TEST_CASE("an unknown dtype does not become a known one in another version") {
    const auto check = [](const bytes& file, format_version target) {
        const reader from = opened(file);
        CHECK_FALSE(from.begin().operator*().begin().operator*().dtype().has_value());
        writer to = to_memory(target);
        if (copy(from, to)) {
            const reader copy = opened(finished(to));
            CHECK_FALSE(copy.begin().operator*().begin().operator*().dtype().has_value());
        }
    };
    check(file_of(generation::v1_2, {{"w", "dense", {2}, {{"data", "float32", bytes(8, 'x')}}}}), format_version::v0_1);
    check(file_of(generation::v1_2, {{"w", "dense", {1}, {{"data", "complex64", bytes(8, 'x')}}}}), format_version::v1_1);
    sample in_0_1(generation::v0_1);
    in_0_1.object("dtype", cbor::text("f32"));
    check(in_0_1.file(), format_version::v1_2);
}

TEST_CASE("attributes of the file are not expressible in 0.1") {
    CHECK(failed_copy(file_of(generation::v1_2, {small}, odd_attributes()), format_version::v0_1).code() == errc::not_expressible);
}

TEST_CASE("after an error the objects before it are in the file") {
    const bytes file = file_of(generation::v1_2, {{"z", "dense", {2}, {{"data", "u8", "ab"}}}, with_type(small, "q4.4"), {"a", "dense", {2}, {{"data", "u8", "cd"}}}});
    const reader from = opened(file);
    writer to = to_memory(format_version::v1_1);
    CHECK(refusal(copy(from, to)) == errc::not_expressible);
    const reader half = opened(finished(to));
    CHECK(half.size() == 1);
    CHECK(half.contains("z"));
}

// -- from 0.1

namespace {

bytes swapped(const bytes& content, std::size_t width) {
    bytes out = content;
    for (std::size_t at = 0; at + width <= out.size(); at += width) {
        std::reverse(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(at + width));
    }
    return out;
}

} // namespace

TEST_CASE("big-endian data are swapped in later versions, with a digest of the same algorithm") {
    const std::pair<const char*, std::size_t> types[] = {{"f64", 8}, {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"i64", 8}, {"i32", 4},
                                                         {"i16", 2}, {"u64", 8}, {"u32", 4}, {"u16", 2}, {"u8", 1}, {"i8", 1}};
    bytes content;
    for (int i = 0; i < 48; ++i) {
        content += static_cast<char>(i * 37);
    }
    for (const auto& [dtype, width] : types) {
        for (const char* const algorithm : {"", "crc32c", "sha256", "blake3"}) {
            sample file(generation::v0_1);
            file.dtype(dtype).shape({48 / width}).blob(content).object("data_endianness", cbor::text("big"));
            const std::string word = algorithm;
            const bytes digest = word == "crc32c" ? crc32c_of(content) : word == "sha256" ? "sha256:" + sha256(support::to_vector(content)) : word + ":?";
            if (!word.empty()) {
                file.component("digest", cbor::text(digest));
            }
            for (const bool is_anew : {false, true}) {
                CAPTURE(dtype, algorithm, is_anew);
                for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
                    const reader copy = opened(copied(file.file(), target, copy_options().reencode(is_anew)));
                    const component_view data = copy.find("w").value().component("data").value();
                    CHECK(decoded_of(data) == (width > 1 ? swapped(content, width) : content));
                    CHECK(data.dtype_name() == dtype);
                    CHECK_FALSE(data.is_big_endian());
                    const bool is_kept = word != "blake3" || (width == 1 && !is_anew);
                    CHECK(std::string(data.digest()).substr(0, data.digest().find(':')) == (is_kept ? word : ""));
                    CHECK(data.verify().value() == (word == "crc32c" || word == "sha256" ? digest_state::match
                                                    : word.empty() || !is_kept          ? digest_state::absent
                                                                                        : digest_state::unsupported));
                }
                const reader same = opened(copied(file.file(), format_version::v0_1, copy_options().reencode(is_anew)));
                const component_view data = same.find("w").value().component("data").value();
                CHECK(data.is_big_endian() == (width > 1));
                CHECK(decoded_of(data) == content);
            }
        }
    }
}

TEST_CASE("bools of 0.1 of any byte become 0 and 1 in later versions") {
    const bytes bools = "\0\1\2\x80\xff\0"s;
    const bytes normal = "\0\1\1\1\1\0"s;
    for (const bool is_zstd : {false, true}) {
        for (const bool is_anew : {false, true}) {
            sample file(generation::v0_1);
            file.dtype("bool").shape({6}).blob(bools);
            const bytes stored = is_zstd ? frame_of(bools) : bools;
            if (is_zstd) {
                file.zstd_blob(stored, 6);
            }
            file.component("digest", cbor::text(crc32c_of(stored)));
            CAPTURE(is_zstd, is_anew);
            for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
                const reader copy = opened(copied(file.file(), target, copy_options().reencode(is_anew)));
                const component_view data = copy.find("w").value().component("data").value();
                CHECK(decoded_of(data) == normal);
                CHECK(data.dtype() == ztensor::dtype::boolean);
                CHECK(data.encoding_name() == (is_zstd ? "zstd" : "raw"));
                CHECK(data.digest().substr(0, 7) == "crc32c:");
                CHECK(data.verify().value() == digest_state::match);
                const auto read = copy.read<bool>("w");
                CHECK((read.has_value() && *read == std::vector<bool>{false, true, true, true, true, false}));
            }
            const bytes same = copied(file.file(), format_version::v0_1);
            CHECK(decoded_of(same, "w") == bools);
        }
    }
}

TEST_CASE("bools of 0.1 in a sparse tensor become 0 and 1 in later versions") {
    for (const bool is_csr : {false, true}) {
        sample file(generation::v0_1);
        file.dtype("bool").shape({1, 3}).object("layout", cbor::text(is_csr ? "sparsecsr" : "sparsecoo"));
        file.blob(is_csr ? u64({0, 2}) + u64({0, 2}) + "\2\xff" : u64({0, 0}) + "\2" + u64({0, 2}) + "\xff");
        sample arrays(generation::v0_1);
        arrays.dtype("bool").shape({1, 3}).blob("\2\xff").object("layout", cbor::text("sparse"));
        if (is_csr) {
            arrays.object("sparse_format", cbor::text("csr")).object("indptr", cbor::numbers({0, 2})).object("indices", cbor::numbers({0, 2}));
        } else {
            arrays.object("sparse_format", cbor::text("coo")).object("coords", cbor::numbers({0, 0, 0, 2}));
        }
        for (const sample& each : {file, arrays}) {
            for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
                CAPTURE(is_csr, name_of(target));
                const reader copy = opened(copied(each.file(), target));
                CHECK(decoded_of(copy.find("w").value().component("values").value()) == "\1\1");
            }
        }
    }
}

TEST_CASE("bools of later versions are not touched, whatever their bytes") {
    const bytes bools = "\0\1\2\xff"s;
    const bytes file = file_of(generation::v1_2, {{"w", "dense", {4}, {{"data", "bool", bools, {{"digest", cbor::text(crc32c_of(bools))}}}}}});
    for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
        const reader copy = opened(copied(file, target));
        CHECK(decoded_of(copy.find("w").value().component("data").value()) == bools);
        CHECK(copy.find("w").value().component("data")->digest() == crc32c_of(bools));
        CHECK(refusal(copy.read<bool>("w")) == errc::bad_bool); // as in the original
    }
}

TEST_CASE("sparse tensors of 0.1 become parts, stored as the blob was, and one blob again") {
    const bytes csr_blob = u64({0, 1, 2}) + u64({0, 2}) + f32_bits({0x40a00000, 0x40e00000});
    const bytes coo_blob = u64({0, 0}) + f32_bits({0x40a00000}) + u64({1, 2}) + f32_bits({0x40e00000});
    for (const bool is_csr : {false, true}) {
        for (const bool is_zstd : {false, true}) {
            const bytes plain = is_csr ? csr_blob : coo_blob;
            const bytes stored = is_zstd ? frame_of(plain) : plain;
            sample file(generation::v0_1);
            file.shape({2, 3}).object("layout", cbor::text(is_csr ? "sparsecsr" : "sparsecoo")).blob(stored);
            if (is_zstd) {
                file.zstd_blob(stored, 0);
            }
            file.component("digest", cbor::text(crc32c_of(stored))).object("custom", cbor::number(7));
            CAPTURE(is_csr, is_zstd);
            for (const format_version by_way_of : {format_version::v1_1, format_version::v1_2}) {
                const bytes in_parts = copied(file.file(), by_way_of);
                const reader copy = opened(in_parts);
                const object_view object = copy.find("w").value();
                CHECK(object.size() == (is_csr ? 3 : 2));
                CHECK(decoded_of(object.component("values").value()) == f32_bits({0x40a00000, 0x40e00000}));
                if (is_csr) {
                    CHECK(decoded_of(object.component("indices").value()) == u64({0, 2}));
                    CHECK(decoded_of(object.component("indptr").value()) == u64({0, 1, 2}));
                    // In the order that the reference writes them in.
                    CHECK(object.component("values")->offset() < object.component("indices")->offset());
                    CHECK(object.component("indices")->offset() < object.component("indptr")->offset());
                } else {
                    CHECK(decoded_of(object.component("coords").value()) == u64({0, 1, 0, 2}));
                }
                for (const component_view component : object) {
                    CHECK(component.encoding_name() == (is_zstd ? "zstd" : "raw"));
                    CHECK(component.digest().substr(0, 7) == "crc32c:");
                    CHECK(component.verify().value() == digest_state::match);
                }
                CHECK(object.attributes().integer("custom").value() == 7);
                const reader back = opened(copied(in_parts, format_version::v0_1));
                CHECK(decoded_of(back.find("w").value().component("data").value()) == plain);
                CHECK(back.find("w").value().original_format() == (is_csr ? "sparsecsr" : "sparsecoo"));
                CHECK(back.verify().value().complete());
            }
        }
    }
}

TEST_CASE("the other spelling of 0.1, with index arrays in the manifest, becomes one blob or parts") {
    sample csr(generation::v0_1);
    csr.shape({2, 3}).blob(f32_bits({0x40a00000, 0x40e00000})).object("layout", cbor::text("sparse")).object("sparse_format", cbor::text("csr"));
    csr.object("indptr", cbor::numbers({0, 1, 2})).object("indices", cbor::numbers({0, 2})).object("custom", cbor::number(7));
    sample coo(generation::v0_1);
    coo.shape({2, 3}).blob(f32_bits({0x40a00000, 0x40e00000})).object("layout", cbor::text("sparse")).object("sparse_format", cbor::text("coo"));
    coo.object("coords", cbor::numbers({0, 1, 0, 2})).object("custom", cbor::number(7));
    for (const format_version target : versions) {
        CAPTURE(name_of(target));
        const reader of_csr = opened(copied(csr.file(), target));
        CHECK(csr_view<float>::from(*of_csr.find("w")).value().to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
        const reader of_coo = opened(copied(coo.file(), target));
        CHECK(ztensor::coo_view<float>::from(*of_coo.find("w")).value().to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
        for (const reader& each : {of_csr, of_coo}) {
            CHECK(each.find("w").value().attributes().size() == 1);
            CHECK(each.find("w").value().attributes().integer("custom").value() == 7);
        }
    }
}

TEST_CASE("a sparse tensor of 0.1 that breaks a rule is not copied into parts") {
    sample file(generation::v0_1);
    file.shape({2, 3}).object("layout", cbor::text("sparsecsr")).blob(u64({0, 1, 2}) + u64({0, 3}) + f32_bits({1, 2}));
    CHECK(failed_copy(file.file(), format_version::v1_2).code() == errc::sparse_index);
    CHECK(copied(file.file(), format_version::v0_1).size() > 0); // as it is stored
    sample big = file;
    big.object("data_endianness", cbor::text("big"));
    CHECK(failed_copy(big.file(), format_version::v1_2).code() == errc::needs_byteswap);
}

// -- from 1.1

TEST_CASE("narrow indices of 1.1 become u64 in 1.2, and stay what they are in 1.1") {
    const std::tuple<const char*, std::size_t, bool> types[] = {{"i8", 1, true}, {"i16", 2, true}, {"i32", 4, true}, {"i64", 8, true},
                                                                {"u8", 1, false}, {"u16", 2, false}, {"u32", 4, false}};
    const auto numbers = [](const integers& values, std::size_t width) {
        bytes out;
        for (const std::uint64_t value : values) {
            out += little_endian(value, width);
        }
        return out;
    };
    for (const auto& [dtype, width, is_signed] : types) {
        for (const bool is_zstd : {false, true}) {
            CAPTURE(dtype, is_zstd);
            const auto one = [&](const char* role, const char* type, const bytes& plain) {
                const bytes stored = is_zstd ? frame_of(plain) : plain;
                piece out{role, type, stored, {{"digest", cbor::text(crc32c_of(stored))}}};
                if (is_zstd) {
                    out.more.set("encoding", cbor::text("zstd"));
                }
                return out;
            };
            const bytes values = f32_bits({0x40a00000, 0x40e00000});
            const bytes file = file_of(generation::v1_1, {
                {"csr", "sparse_csr", {2, 3}, {one("indices", dtype, numbers({0, 2}, width)), one("indptr", dtype, numbers({0, 1, 2}, width)), one("values", "f32", values)}},
                {"coo", "sparse_coo", {2, 3}, {one("coords", dtype, numbers({0, 1, 0, 2}, width)), one("values", "f32", values)}}});
            const reader wide = opened(copied(file, format_version::v1_2));
            CHECK(decoded_of(wide.find("csr").value().component("indices").value()) == u64({0, 2}));
            CHECK(decoded_of(wide.find("csr").value().component("indptr").value()) == u64({0, 1, 2}));
            CHECK(decoded_of(wide.find("coo").value().component("coords").value()) == u64({0, 1, 0, 2}));
            CHECK(wide.verify().value().complete());
            for (const object_view object : wide) {
                for (const component_view component : object) {
                    CHECK(component.encoding_name() == (is_zstd ? "zstd" : "raw"));
                    CHECK(component.dtype_name() == (component.role() == "values" ? "f32" : "u64"));
                }
            }
            check_verbatim(file, copied(file, format_version::v1_1));
            const reader in_0_1 = opened(copied(file, format_version::v0_1));
            CHECK(csr_view<float>::from(*in_0_1.find("csr")).value().to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});

            if (is_signed) {
                const bytes negative = file_of(generation::v1_1, {{"m", "sparse_coo", {3}, {one("coords", dtype, numbers({~std::uint64_t{0}, 2}, width)), one("values", "f32", values)}}});
                CHECK(failed_copy(negative, format_version::v1_2).code() == errc::sparse_index);
            }
        }
    }
}

TEST_CASE("blobs whose size 1.1 does not state get it in 1.2") {
    const std::vector<thing> things = {
        {"dense", "dense", {2, 2}, {{"data", "u8", frame_of("abcd"), {{"encoding", cbor::text("zstd")}}}}},
        {"csr", "sparse_csr", {1, 3}, {{"indices", "u64", frame_of(u64({2})), {{"encoding", cbor::text("zstd")}}},
                                       {"indptr", "u64", frame_of(u64({0, 1})), {{"encoding", cbor::text("zstd")}}},
                                       {"values", "u8", frame_of("a"), {{"encoding", cbor::text("zstd")}}}}},
        {"own", "own", {9}, {{"any", "u8", frame_of("abc") + frame_of("de"), {{"encoding", cbor::text("zstd")}}}}},
        {"unknown dtype", "dense", {9}, {{"data", "u4", frame_of("abc"), {{"encoding", cbor::text("zstd")}}}}},
        {"quantized", "quantized_group", {8}, {{"packed_weight", "i32", frame_of("abcd"), {{"encoding", cbor::text("zstd")}}}, {"scales", "u8", "a"}, {"zeros", "u8", "b"}}},
    };
    const bytes file = file_of(generation::v1_1, things);
    const bytes copy_1_2 = copied(file, format_version::v1_2);
    const reader copy = opened(copy_1_2);
    const auto size_of = [&](const char* object, const char* role) {
        return copy.find(object).value().component(role).value().uncompressed_length();
    };
    CHECK(size_of("dense", "data") == 4);
    CHECK(size_of("csr", "indices") == 8);
    CHECK(size_of("csr", "indptr") == 16);
    CHECK(size_of("csr", "values") == 1);
    CHECK(size_of("own", "any") == 5);
    CHECK(size_of("unknown dtype", "data") == 3);
    CHECK(size_of("quantized", "packed_weight") == 4);
    CHECK(size_of("quantized", "scales") == std::nullopt);
    const reader from = opened(file);
    for (const object_view object : from) {
        for (const component_view component : object) {
            CHECK(stored_of(copy.find(object.name()).value().component(component.role()).value()) == stored_of(component));
        }
    }
    CHECK(copied(copy_1_2, format_version::v1_1) == copied(file, format_version::v1_1));
}

TEST_CASE("the types that 1.1 spells as dtypes are the same types in 1.2") {
    const std::vector<thing> in_1_1 = {
        {"a", "dense", {3}, {{"data", "f8_e4m3", "abc"}}},
        {"b", "dense", {3}, {{"data", "f8_e5m2", "abc"}}},
        {"c", "dense", {1}, {{"data", "complex64", bytes(8, 'c')}}},
        {"d", "dense", {1}, {{"data", "complex128", frame_of(bytes(16, 'd')), {{"encoding", cbor::text("zstd")}}}}},
    };
    const bytes file = file_of(generation::v1_1, in_1_1);
    const bytes copy = copied(file, format_version::v1_2);
    const std::tuple<const char*, const char*, const char*> expected[] = {
        {"a", "u8", "f8_e4m3fn"}, {"b", "u8", "f8_e5m2"}, {"c", "f32", "complex64"}, {"d", "f64", "complex128"}};
    const reader copied_file = opened(copy);
    for (const auto& [name, dtype, type] : expected) {
        const component_view data = copied_file.find(name).value().component("data").value();
        CHECK(data.original_dtype() == dtype);
        CHECK(data.type() == type);
    }
    const reader back = opened(copied(copy, format_version::v1_1));
    for (const thing& each : in_1_1) {
        CHECK(back.find(each.name).value().component("data")->original_dtype() == each.pieces.front().dtype);
        CHECK(stored_of(back.find(each.name).value().component("data").value()) == each.pieces.front().stored);
    }
}

// -- tied weights

namespace {

/// Three objects of one blob.
sample tied_weights() {
    cbor::map objects;
    for (const char* const name : {"a", "b", "c"}) {
        objects.set(name, sample().encoded_object());
    }
    sample tied;
    tied.objects(objects);
    return tied;
}

} // namespace

TEST_CASE("tied weights stay one blob, also beside those of another file") {
    const reader from = opened(tied_weights().file());
    writer to = to_memory(format_version::v1_2);
    copy(from, to).value();
    copy(from, to, copy_options().rename([](std::string_view name) { return "second " + std::string(name); })).value();
    const reader copy = opened(finished(to));
    const auto offset_of = [&](const char* name) { return copy.find(name).value().data().value().offset(); };
    CHECK(copy.size() == 6);
    CHECK(offset_of("a") == 64);
    CHECK(offset_of("b") == 64);
    CHECK(offset_of("c") == 64);
    CHECK(offset_of("second a") == 128); // another copy, which may be of another file
    CHECK(offset_of("second c") == 128);
}

TEST_CASE("tied weights keep their values") {
    sample tied = tied_weights();
    for (const format_version target : versions) {
        for (const bool is_anew : {false, true}) {
            const reader copy = opened(copied(tied.file(), target, copy_options().reencode(is_anew)));
            CHECK(copy.size() == 3);
            for (const object_view object : copy) {
                CHECK(object.read<float>().value() == std::vector<float>{1, 2});
            }
        }
    }
}

// -- selecting, renaming, progress

namespace {

/// Three objects whose blobs lie in another order than their names.
bytes three() {
    return file_of(generation::v1_2, {{"c", "dense", {3}, {{"data", "u8", "ccc"}}},
                                      {"a", "dense", {1}, {{"data", "u8", "a"}}},
                                      {"b", "own", {2}, {{"one", "u8", "bb"}, {"two", "u8", "bbbb"}}}});
}

std::vector<std::string> names_in(const bytes& file) {
    const reader from = opened(file);
    std::vector<std::string> names;
    for (const object_view object : from) {
        names.emplace_back(object.name());
    }
    return names;
}

} // namespace

TEST_CASE("only what is selected is copied") {
    CHECK(names_in(copied(three(), format_version::v1_2, only("a"))) == std::vector<std::string>{"a"});
    CHECK(names_in(copied(three(), format_version::v1_2, only("nothing"))).empty());
    const auto by_format = copy_options().select([](const object_view& object) { return object.format() == "dense"; });
    CHECK(names_in(copied(three(), format_version::v0_1, by_format)) == std::vector<std::string>{"c", "a"}); // as the blobs lie
}

TEST_CASE("objects are renamed, and a name that comes twice is refused") {
    const auto prefix = copy_options().rename([](std::string_view name) { return "model." + std::string(name); });
    const bytes renamed = copied(three(), format_version::v1_2, prefix);
    CHECK(names_in(renamed) == std::vector<std::string>{"model.a", "model.b", "model.c"});
    CHECK(decoded_of(renamed, "model.c") == "ccc");

    const auto same = copy_options().rename([](std::string_view) { return "x"s; });
    const reader from = opened(three());
    writer to = to_memory(format_version::v1_2);
    const result<void> done = copy(from, to, same);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code() == errc::duplicate_key);
    CHECK(done.error().object() == "x");
    CHECK(names_in(finished(to)) == std::vector<std::string>{"x"});

    for (const std::string& invalid : {""s, "a\0b"s, bytes(4097, 'n'), "\xff"s}) {
        const auto badly = copy_options().rename([invalid](std::string_view) { return invalid; });
        CHECK(failed_copy(three(), format_version::v1_2, badly).code() == errc::name_invalid);
    }
}

TEST_CASE("selecting is asked by the old name, also where there is a new one") {
    auto options = only("b");
    options.rename([](std::string_view name) { return std::string(name) + "2"; });
    CHECK(names_in(copied(three(), format_version::v1_2, options)) == std::vector<std::string>{"b2"});
}

TEST_CASE("progress tells of each object, in the order of the blobs, and of the stored bytes") {
    std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> told;
    const auto tell = copy_options().progress([&](const copy_progress& progress) {
        told.emplace_back(progress.object, progress.done_bytes, progress.total_bytes);
        return true;
    });
    copied(three(), format_version::v1_2, tell);
    CHECK(told == std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>{{"c", 3, 10}, {"a", 4, 10}, {"b", 10, 10}});
    told.clear();
    copied(three(), format_version::v1_2, copy_options(tell).select([](const object_view& object) { return object.name() != "c"; }));
    CHECK(told == std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>{{"a", 1, 7}, {"b", 7, 7}});
    told.clear();
    copied(file_of(generation::v1_2, {}), format_version::v1_2, tell);
    CHECK(told.empty());
}

TEST_CASE("progress over a golden file adds up to its stored bytes") {
    for (const golden_file& file : golden_files()) {
        std::uint64_t expected = 0;
        for (const json& object : file.description.at("objects")) {
            for (const json& component : object.at("components")) {
                expected += component.at("length").get<std::uint64_t>();
            }
        }
        std::uint64_t last = 0;
        std::size_t calls = 0;
        const auto tell = copy_options().progress([&](const copy_progress& progress) {
            CHECK(progress.done_bytes >= last);
            CHECK(progress.total_bytes == expected);
            last = progress.done_bytes;
            ++calls;
            return true;
        });
        INFO(file.name);
        copied(file.content, format_version::v1_2, tell);
        CHECK(last == expected);
        CHECK(calls == file.description.at("objects").size());
    }
}

TEST_CASE("a copy that is cancelled says so, and what was copied is there") {
    for (const std::size_t after : {1U, 2U, 3U}) {
        std::size_t calls = 0;
        const reader from = opened(three());
        writer to = to_memory(format_version::v1_2);
        const result<void> done = copy(from, to, copy_options().progress([&](const copy_progress&) { return ++calls < after; }));
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().code() == errc::cancelled);
        CHECK(calls == after);
        CHECK(names_in(finished(to)).size() == after);
    }
}

TEST_CASE("objects of several files are copied into one") {
    writer to = to_memory(format_version::v1_2);
    to.add("own", {1}, std::vector<std::uint8_t>{7}).value();
    copy(opened(three()), to, copy_options().rename([](std::string_view name) { return "1." + std::string(name); })).value();
    copy(opened(three()), to, copy_options().rename([](std::string_view name) { return "2." + std::string(name); })).value();
    const bytes merged = finished(to);
    CHECK(names_in(merged) == std::vector<std::string>{"1.a", "1.b", "1.c", "2.a", "2.b", "2.c", "own"});
    CHECK(decoded_of(merged, "2.b", "two") == "bbbb");
}

TEST_CASE("a copy into a writer that has finished is refused") {
    writer to = to_memory(format_version::v1_2);
    to.finish().value();
    CHECK(refusal(copy(opened(three()), to)) == errc::writer_closed);
}

TEST_CASE("blobs keep their order, and empty ones come before what they lie at the start of") {
    const std::vector<thing> things = {{"z", "dense", {0}, {{"data", "u8", ""}}},
                                       {"m", "own", {1}, {{"y", "u8", "yy"}, {"x", "u8", ""}, {"w", "u8", "ww"}}},
                                       {"a", "dense", {2}, {{"data", "u8", "ab"}}}};
    const bytes file = copied(file_of(generation::v1_2, things), format_version::v1_2);
    CHECK(copied(file, format_version::v1_2) == file);
    CHECK(copied(file, format_version::v1_2, copy_options().reencode()) == file);
    const reader copy = opened(file);
    CHECK(copy.find("m").value().component("y")->offset() < copy.find("m").value().component("w")->offset());
    CHECK(copy.find("m").value().component("w")->offset() < copy.find("a").value().component("data")->offset());
}

TEST_CASE("1.0 is copied into every version") {
    const std::vector<thing> things = {
        {"dense", "dense", {2}, {{"data", "float32", f32_bits({1, 2})}}},
        {"zstd", "dense", {2}, {{"data", "int64", frame_of(u64({1, 2})), {{"encoding", cbor::text("zstd")}}}}},
        {"csr", "sparse_csr", {2, 3}, {{"values", "float32", f32_bits({0x40a00000, 0x40e00000})}, {"indices", "", u64({0, 2})}, {"indptr", "", u64({0, 1, 2})}}},
    };
    const bytes file = file_of(generation::v1_0, things);
    for (const format_version target : versions) {
        CAPTURE(name_of(target));
        const reader copy = opened(copied(file, target));
        CHECK(copy.size() == 3);
        CHECK(decoded_of(copy.find("dense").value().component("data").value()) == f32_bits({1, 2}));
        CHECK(copy.read<std::int64_t>("zstd").value() == std::vector<std::int64_t>{1, 2});
        CHECK(csr_view<float>::from(*copy.find("csr")).value().to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
    }
}
