// SPDX-License-Identifier: MIT
//
// Which bytes of a source are touched, what becomes of damage and of sources that fail, and how long what was handed
// out lives.
#include "read/read_samples.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/reader.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using read_samples::elements_in;
using read_samples::first_numbers;
using read_samples::floats;
using read_samples::read;
using read_samples::twelve_compressed;
using read_samples::twelve_floats;
using read_samples::viewable;
using support::bytes;
using support::opened;
using support::outcome;
using support::read_ranges;
using support::sample;
using support::temp_dir;
using support::to_vector;
using support::watch;
using support::watched;
using support::watched_source;
using ztensor::bytes_view;
using ztensor::component_view;
using ztensor::digest;
using ztensor::errc;
using ztensor::object_view;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

} // namespace

// -- digests and damage

TEST_CASE("damage is found by reading and by verifying, unless the caller trusts the file") {
    const bytes good = twelve_floats().component("digest", cbor::text("crc32c:0x00000000")).file();
    const temp_dir directory;
    for (const support::opening& each : support::open_every_way(good, directory)) {
        CAPTURE(each.way);
        const reader& file = each.file.value();
        CHECK(read<float>(file) == "digest_mismatch");
        CHECK(outcome(file.read_as<float>("w")) == "digest_mismatch");
        std::vector<float> into(12);
        CHECK(outcome(file.read_into("w", into)) == "digest_mismatch");
        CHECK(outcome(file["w"].rows(0, 6).read<float>()) == "ok"); // no digest covers rows
        CHECK(file.find("w").value().data().value().verify().value() == ztensor::digest_state::mismatch);
        CHECK(file.read<float>("w").error().offset() == std::uint64_t{64});
        CHECK(file.read<float>("w").error().what().find("crc32c:0x00000000") != std::string::npos);
    }
    for (const support::opening& each :
         support::open_every_way(good, directory, read_options().verify_digests(false))) {
        CAPTURE(each.way);
        CHECK(each.file.value().read<float>("w").value() == first_numbers(12));
        CHECK(each.file.value().verify().value().mismatches.size() == 1);
    }
}

TEST_CASE("a digest of compressed data covers what is stored") {
    const bytes stored = zstd::frame(zstd::raw_block(floats(first_numbers(12))));
    const std::vector<std::byte> stored_bytes = to_vector(stored);
    const std::string of_stored = ztensor::digest_text(ztensor::digest::sha256, bytes_view(stored_bytes));
    const temp_dir directory;
    for (const support::opening& each :
         support::open_every_way(twelve_compressed().component("digest", cbor::text(of_stored)).file(), directory)) {
        CAPTURE(each.way);
        CHECK(each.file.value().read<float>("w").value() == first_numbers(12));
        CHECK(each.file.value().verify().value().complete());
    }
    const std::vector<std::byte> plain = to_vector(floats(first_numbers(12)));
    const std::string of_decoded = ztensor::digest_text(ztensor::digest::sha256, bytes_view(plain));
    const reader wrong = opened(twelve_compressed().component("digest", cbor::text(of_decoded)).file());
    CHECK(read<float>(wrong) == "digest_mismatch");
}

TEST_CASE("compressed data that is damaged or of another size is refused") {
    const bytes good = floats(first_numbers(12));
    const std::pair<bytes, std::string_view> blobs[] = {
        {"not a frame at all", "decode_failed"},
        {zstd::frame(zstd::raw_block(good)).substr(0, 30), "decode_failed"},
        {zstd::frame(zstd::raw_block(good)) + "x", "decode_failed"},
        {zstd::frame(zstd::raw_block(good.substr(0, 44))), "decode_size"},
        {zstd::frame(zstd::raw_block(good + "more")), "decode_size"},
    };
    const temp_dir directory;
    for (const auto& [blob, code] : blobs) {
        const bytes content = sample().shape({6, 2}).zstd_blob(blob, 48).file();
        for (const support::opening& each : support::open_every_way(content, directory)) {
            CAPTURE(each.way, blob.size());
            const reader& file = each.file.value();
            CHECK(read<float>(file) == code);
            CHECK(outcome(file.read_as<float>("w")) == code);
            CHECK(outcome(file["w"].rows(0, 1).read<float>()) == code);
            std::vector<float> into(12);
            CHECK(outcome(file.read_into("w", into)) == code);
            CHECK(file.read<float>("w").error().offset() == std::uint64_t{64});
            CHECK(file.read<float>("w").error().object() == "w");
        }
    }
}

TEST_CASE("verifying a file counts every component") {
    const auto object_with = [](std::optional<std::string_view> digest) {
        sample described = sample().dtype("u8").shape({9}).blob("123456789");
        if (digest) {
            described.component("digest", cbor::text(*digest));
        }
        return described.encoded_object();
    };
    const bytes content = sample()
                              .blob("123456789")
                              .objects(cbor::map{{"absent", object_with(std::nullopt)},
                                                 {"crc", object_with("crc32c:0xE3069283")},
                                                 {"crc again", object_with("crc32c:e3069283")},
                                                 {"other", object_with("blake3:00")},
                                                 {"wrong", object_with("crc32c:0xE3069284")},
                                                 {"wrong too", object_with("sha256:" + std::string(64, '0'))}})
                              .file();
    const temp_dir directory;
    for (const support::opening& each : support::open_every_way(content, directory)) {
        for (const unsigned threads : {0u, 1u, 2u, 100u}) {
            CAPTURE(each.way, threads);
            const ztensor::verification answer = each.file.value().verify(threads).value();
            CHECK(answer.verified == 2);
            CHECK(answer.absent == 1);
            CHECK(answer.unsupported == 1);
            REQUIRE(answer.mismatches.size() == 2);
            CHECK(answer.mismatches[0].digest().text() == "crc32c:0xE3069284");
            CHECK(answer.mismatches[1].digest().text().substr(0, 7) == "sha256:");
            CHECK_FALSE(answer.ok());
            CHECK_FALSE(answer.complete());
        }
    }
    const reader empty = opened(sample().objects(cbor::map{}.encoded()).file());
    CHECK(empty.verify().value().complete());
    const reader without = opened(sample().file());
    CHECK(without.verify().value().ok());
    CHECK_FALSE(without.verify().value().complete());
}

// -- which bytes are read

TEST_CASE("opening reads the two ends and the index, and no byte of a tensor") {
    for (const ztensor::version version : {version::v0_1, version::v1_0, version::v1_1, version::v1_2}) {
        CAPTURE(name(version));
        const bytes blob(100000, 'x');
        const sample described = sample(version).dtype("u8").shape({blob.size()}).blob(blob);
        const bytes content = described.file();
        const auto source = std::make_shared<watched_source>(content);
        const reader file = reader::from_source(source).value();
        const std::uint64_t index_start =
            content.size() - (version >= version::v1_1 ? 16 : 8) - described.index().size();
        std::uint64_t total = 0;
        for (const auto& each : source->reads) {
            CAPTURE(each.offset, each.length);
            CHECK((each.offset + each.length <= 64 || each.offset >= index_start));
            total += each.length;
        }
        CHECK(total <= 64 + 16 + described.index().size());
        CHECK(file.manifest_bytes() == described.index().size());

        source->reads.clear(); // what the index says is known by now
        CHECK(file.find("w").value().element_count() == blob.size());
        CHECK(file.find("w").value().data().value().stored_bytes() == blob.size());
        CHECK(outcome(file.view<std::uint8_t>("w")) == "not_viewable");
        CHECK(source->reads.empty());
    }
}

TEST_CASE("reading reads the blob and nothing else") {
    const bytes stored = zstd::frame(zstd::raw_block(floats(first_numbers(12))));
    struct expectation {
        bytes content;
        std::uint64_t length;
    };
    for (const expectation& each :
         {expectation{twelve_floats().file(), 48}, expectation{twelve_compressed().file(), stored.size()}}) {
        const read_ranges blob = {{64, each.length}};
        const watched seen = watch(each.content);
        std::vector<float> into(12);
        seen.file.read_into("w", into).value();
        CHECK(merged(seen.source->reads) == blob);
        seen.source->reads.clear();
        seen.file.read<float>("w").value();
        CHECK(merged(seen.source->reads) == blob);
        seen.source->reads.clear();
        seen.file.read_as<float>("w").value();
        CHECK(merged(seen.source->reads) == blob);
    }
}

TEST_CASE("reading rows of raw data reads their bytes and no others") {
    const watched seen = watch(twelve_floats().component("digest", cbor::text("crc32c:00000000")).file());
    CHECK(seen.file["w"].rows(2, 5).read<float>().value() == std::vector<float>{4, 5, 6, 7, 8, 9});
    CHECK(merged(seen.source->reads) == read_ranges{{64 + 16, 24}});
    seen.source->reads.clear();
    CHECK(seen.file["w"].rows(4, 4).read<float>().value().empty());
    CHECK(merged(seen.source->reads).empty());
}

TEST_CASE("reading rows of bools reads their bytes and no others") {
    const watched seen = watch(sample().dtype("bool").shape({100, 10}).blob(bytes(1000, '\x01')).file());
    CHECK(seen.file["w"].rows(3, 5).read<bool>().value() == std::vector<bool>(20, true));
    CHECK(merged(seen.source->reads) == read_ranges{{64 + 30, 20}});
}

TEST_CASE("verifying reads what has a digest and nothing else") {
    const watched with = watch(twelve_floats().component("digest", cbor::text("crc32c:00000000")).file());
    CHECK(with.file.verify(1).value().mismatches.size() == 1);
    CHECK(merged(with.source->reads) == read_ranges{{64, 48}});
    const watched without = watch(twelve_floats().file());
    CHECK(without.file.verify(1).value().absent == 1);
    CHECK(without.source->reads.empty());
    const watched unknown = watch(twelve_floats().component("digest", cbor::text("md5:00")).file());
    CHECK(unknown.file.verify(1).value().unsupported == 1);
    CHECK(unknown.source->reads.empty());
}

TEST_CASE("a source that lies in memory is viewed there") {
    const watched seen = watch(twelve_floats().file(), true);
    CHECK(seen.file.is_mapped());
    CHECK(seen.file.view<std::byte>("w").value().data() == seen.source->mapped().data() + 64);
    CHECK(outcome(seen.file.view<float>("w")) == viewable);
    CHECK(seen.source->reads.empty());
}

// -- sources that fail

TEST_CASE("whichever read fails while a file is opened, opening says what the source said") {
    for (const errc why : {errc::io_error, errc::file_changed}) {
        for (std::size_t failing = 0; failing < 3; ++failing) {
            CAPTURE(failing, name(why));
            const auto source = std::make_shared<watched_source>(twelve_floats().file());
            source->first_failing_read = failing;
            source->failure = why;
            CHECK(outcome(reader::from_source(source)) == name(why));
            CHECK(source->reads.size() == failing + 1);
        }
    }
}

TEST_CASE("a read that fails says what the source said, and where") {
    for (const bytes& content : {twelve_floats().component("digest", cbor::text("crc32c:00000000")).file(),
                                 twelve_compressed().component("digest", cbor::text("crc32c:00000000")).file()}) {
        const watched seen = watch(content);
        seen.source->first_failing_read = 0;
        CHECK(read<float>(seen.file) == "io_error");
        CHECK(outcome(seen.file.read_as<float>("w")) == "io_error");
        CHECK(outcome(seen.file["w"].rows(0, 1).read<float>()) == "io_error");
        CHECK(outcome(seen.file.verify(1)) == "io_error");
        std::vector<float> into(12);
        const result<void> failed = seen.file.read_into("w", into);
        REQUIRE(outcome(failed) == "io_error");
        CHECK(failed.error().object() == "w");
        CHECK(failed.error().component() == "data");
        CHECK(failed.error().what().find("the connection was lost") != std::string::npos);
        std::vector<std::byte> stored(8);
        CHECK(outcome(seen.file.find("w").value().data().value().read_stored_into(stored)) != "ok");
    }
}

TEST_CASE("a mapped source that has become shorter is not read in bulk") {
    const bytes content = twelve_floats().component("digest", cbor::text("crc32c:00000000")).file();
    const watched seen = watch(content, true, read_options().verify_digests(false));
    CHECK(outcome(seen.file.read_as<float>("w")) == "ok");
    CHECK(outcome(seen.file["w"].slice({{0, 6}, {1, 2}}).read<float>()) == "ok");
    seen.source->has_shrunk = true;
    if (support::host_is_little_endian()) { // others turn the bytes around in a copy, which they read
        CHECK(outcome(seen.file.read_as<float>("w")) == "file_changed");
    }
    CHECK(outcome(seen.file["w"].slice({{0, 6}, {1, 2}}).read<float>()) == "file_changed");
    CHECK(outcome(seen.file.verify(1)) == "file_changed");
}

TEST_CASE("what is checked or decoded is read into memory of our own first") {
    const std::string_view wrong = "crc32c:00000000";
    for (sample file : {twelve_floats(), twelve_compressed()}) {
        const watched seen = watch(file.component("digest", cbor::text(wrong)).file(), true);
        CHECK(read<float>(seen.file) == "digest_mismatch");
        CHECK(outcome(seen.file.read_as<float>("w")) == "digest_mismatch");
        std::uint64_t read_bytes = 0;
        for (const support::read_range& each : seen.source->reads) {
            read_bytes += each.length;
        }
        CHECK(read_bytes == 2 * seen.file.find("w").value().data().value().stored_bytes());
    }
}

// -- stored bytes and metadata

TEST_CASE("the stored bytes are there as they are stored") {
    const bytes stored = zstd::frame(zstd::raw_block(floats(first_numbers(12))));
    const temp_dir directory;
    for (const support::opening& each : support::open_every_way(twelve_compressed().file(), directory)) {
        CAPTURE(each.way);
        const component_view data = each.file.value().find("w").value().data().value();
        CHECK(data.stored_bytes() == stored.size());
        CHECK(data.decoded_bytes() == std::uint64_t{48});
        CHECK(data.uncompressed_length() == std::uint64_t{48});
        std::vector<std::byte> copy(stored.size());
        CHECK(outcome(data.read_stored_into(copy)) == "ok");
        CHECK(copy == to_vector(stored));
        std::vector<std::byte> too_many(stored.size() + 1);
        CHECK(outcome(data.read_stored_into(too_many)) != "ok");
        if (each.file.value().is_mapped()) {
            CHECK(elements_in(data.bytes().value()) == to_vector(stored));
        } else {
            CHECK(outcome(data.bytes()) == "not_viewable");
        }
    }
}

TEST_CASE("a reader knows its file") {
    const temp_dir directory;
    const bytes content = twelve_floats().file();
    for (const support::opening& each : support::open_every_way(content, directory)) {
        CAPTURE(each.way);
        const reader& file = each.file.value();
        CHECK(file.file_bytes() == content.size());
        CHECK(file.version().original() == "1.2.0");
        CHECK(file.size() == 1);
        CHECK_FALSE(file.empty());
        CHECK(file.path().empty() != each.is_path);
        CHECK_FALSE(file.has_attributes());
    }
    const std::pair<ztensor::version, std::string_view> versions[] = {
        {version::v0_1, ""}, {version::v1_0, "1.0"}, {version::v1_1, "1.1.0"}, {version::v1_2, "1.2.0"}};
    for (const auto& [each, version] : versions) {
        const reader file = opened(sample(each).file());
        CHECK(file.version() == each);
        CHECK(file.version().original() == version);
        CHECK(file.find("w").value().data().value().dtype().original() == (each <= version::v1_0 ? "float32" : "f32"));
        CHECK(file.find("w").value().data().value().dtype().text() == "f32");
    }
}

TEST_CASE("objects are walked in the order of the file, sorted or not") {
    const bytes object = sample().encoded_object();
    const reader file =
        opened(sample().objects(cbor::map{{"m", object}, {"z", object}, {"a", object}, {"aa", object}}).file());
    std::string names;
    for (const object_view each : file) {
        names += std::string(each.name()) + ' ';
    }
    CHECK(names == "m z a aa ");
    for (const std::string_view name : {"m", "z", "a", "aa"}) {
        CHECK(file.find(name).value().name() == name);
    }
    CHECK_FALSE(file.contains("mm"));
}

// -- lifetimes and threads

TEST_CASE("copies of a reader keep alive what any of them handed out") {
    const temp_dir directory;
    support::write_file(directory / "f.zt", twelve_floats().component("digest", cbor::text("md5:0")).file());
    for (const bool is_file : {false, true}) {
        CAPTURE(is_file);
        std::optional<reader> first(is_file ? reader::open(directory / "f.zt").value()
                                            : opened(twelve_floats().component("digest", cbor::text("md5:0")).file()));
        const object_view object = first->find("w").value();
        const bytes_view view = first->view<std::byte>("w").value();
        const std::string_view digest = object.data().value().digest().text();
        std::optional<reader> second(*first);
        first.reset();
        const reader third(std::move(*second));
        second.reset();
        CHECK(elements_in(view) == to_vector(floats(first_numbers(12))));
        CHECK(object.name() == "w");
        CHECK(digest == "md5:0");
        CHECK(third.view<std::byte>("w").value().data() == view.data());
    }
}

TEST_CASE("a reader may be asked from many threads at once") {
    const bytes raw = twelve_floats().encoded_object();
    cbor::map objects;
    for (int i = 99; i >= 0; --i) { // not sorted
        objects.set("tensor " + std::to_string(i), raw);
    }
    const temp_dir directory;
    for (const support::opening& each : support::open_every_way(twelve_floats().objects(objects).file(), directory)) {
        CAPTURE(each.way);
        const reader& file = each.file.value();
        std::atomic<int> wrong{0};
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 8; ++thread) {
            threads.emplace_back([&file, &wrong, thread] {
                for (int i = 0; i < 100; ++i) {
                    const std::string name = "tensor " + std::to_string((i + 13 * thread) % 100);
                    const result<std::vector<float>> all = file.read<float>(name);
                    const result<std::vector<float>> rows = file[name].rows(1, 2).read<float>();
                    const bool is_right = all && all->size() == 12 && all->back() == 11 && rows &&
                                          *rows == std::vector<float>{2, 3} && !file.contains(name + "x") &&
                                          file.find(name).value().data().value().verify().has_value();
                    wrong += is_right ? 0 : 1;
                }
            });
        }
        for (std::thread& each_thread : threads) {
            each_thread.join();
        }
        CHECK(wrong == 0);
    }
}
