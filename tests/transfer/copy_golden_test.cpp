// SPDX-License-Identifier: MIT
//
// Copies of the golden files to every version. What must be in a copy is what the file's description says, which this
// project did not write. SPEC.md §8.4 and §10.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"
#include "transfer/copy_content.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/json.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::golden_paths;
using support::integers;
using support::little_endian;
using support::opened;
using support::read_file;
using support::to_hex;
using things::copied;
using things::failed_copy;
using things::name_of;
using things::only;
using things::versions;
using ztensor::attributes;
using ztensor::component_view;
using ztensor::copy_options;
using ztensor::copy_progress;
using ztensor::csr_view;
using ztensor::digest_state;
using ztensor::errc;
using ztensor::error;
using ztensor::format_version;
using ztensor::object_view;
using ztensor::reader;
using ztensor::version;

using json = nlohmann::json;

struct golden_file {
    std::string name;
    bytes content;
    json description;

    [[nodiscard]] bool is_marked(const char* mark) const { return description.value(mark, "") == "identical"; }
    [[nodiscard]] std::string generation() const { return description.at("generation"); }
};

const std::vector<golden_file>& golden_files() {
    static const std::vector<golden_file> files = [] {
        std::vector<golden_file> found;
        for (std::filesystem::path path : golden_paths()) {
            golden_file file{path.filename().string(), read_file(path), {}};
            file.description = json::parse(read_file(path.replace_extension(".json")));
            found.push_back(std::move(file));
        }
        return found;
    }();
    return files;
}

format_version version_of(const std::string& generation) {
    return generation == "0.1"   ? format_version::v0_1
           : generation == "1.1" ? format_version::v1_1
                                 : format_version::v1_2;
}

std::string sha256(ztensor::bytes_argument content) {
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
        out[each.at("key")] =
            each.contains("cbor") ? each.at("cbor").get<std::string>() : each.at("cbor_sha256").get<std::string>();
    }
    return out;
}

std::map<std::string, std::string> found_attributes(const ztensor::attributes_view& attributes) {
    std::map<std::string, std::string> out;
    for (const ztensor::attribute& each : attributes) {
        out[std::string(each.key)] = each.cbor.size() <= 256 ? to_hex(each.cbor) : sha256(each.cbor);
    }
    return out;
}

bool is_sparse(const json& object) {
    return object.at("format") == "sparse_csr" || object.at("format") == "sparse_coo";
}

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
        const bool has_word_in_1_1 =
            type == "f8_e4m3fn" || type == "f8_e5m2" || type == "complex64" || type == "complex128";
        const bool says_nothing = type.empty() || type == component.at("dtype").get<std::string>();
        if (!says_nothing && (target == format_version::v0_1 || (target == format_version::v1_1 && !has_word_in_1_1))) {
            return false;
        }
        const std::string encoding = component.at("encoding");
        if (target != format_version::v1_2 && component.contains("uncompressed_length") && encoding != "raw" &&
            encoding != "zstd") {
            return false;
        }
    }
    return target != format_version::v0_1 || is_sparse(object) || object.at("format") == "dense";
}

void check_digest(const component_view& component, const json& described) {
    const std::string text = described.value("digest", "");
    const std::string algorithm = text.substr(0, text.find(':'));
    const digest_state state = component.verify().value();
    CHECK(std::string(component.digest().text()).substr(0, component.digest().text().find(':')) == algorithm);
    CHECK(state == (text.empty()                              ? digest_state::absent
                    : described.at("digest_state") == "match" ? digest_state::match
                                                              : digest_state::unsupported));
}

void check_component(const component_view& component, const json& described) {
    CHECK(std::string(component.dtype().text()) == described.at("dtype").get<std::string>());
    CHECK(std::string(component.encoding().text()) == described.at("encoding").get<std::string>());
    const std::string type = described.value("type", "");
    CHECK((component.type().text() == type ||
           type == described.at("dtype").get<std::string>())); // a type that says nothing may be left out
    check_digest(component, described);
    if (!component.encoding().is_known()) {
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
        CHECK(sha256(check_values(view, described.at("coo")).coords()) ==
              described.at("coo").at("coords_u64_soa_sha256").get<std::string>());
    }
    const json& parts = described.at("components");
    const json& elements_part = parts.contains("values") ? parts.at("values") : parts.at("data");
    for (const component_view component : object) {
        CHECK(component.encoding().text() == elements_part.at("encoding").get<std::string>());
        check_digest(component, elements_part);
        if (component.role() == "values" || component.role() == "data") {
            CHECK(component.dtype().text() == elements_part.at("dtype").get<std::string>());
        } else {
            CHECK(component.dtype() == ztensor::dtype::u64);
        }
    }
}

void check_object(const object_view& object, const json& described) {
    INFO(described.at("name").get<std::string>());
    const auto dimensions = described.at("shape").get<integers>();
    CHECK(object.shape() == ztensor::shape(ztensor::span<const std::uint64_t>(dimensions)));
    CHECK(object.format().text() == described.at("format").get<std::string>());
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
    return std::all_of(objects.begin(), objects.end(),
                       [&](const json& object) { return is_expressible(object, target); });
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
            is_changed =
                is_changed || data.contains("byte_order") || (is_sparse(object) && data.at("encoding") == "zstd");
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
