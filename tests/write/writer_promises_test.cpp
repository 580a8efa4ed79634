// SPDX-License-Identifier: MIT
//
// What a writer promises beside the bytes: its limits, what it asks of a sink, and what is left of one that is over.
// SPEC.md §10.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/scripted_sink.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

/// Two numbers that a logical type of the user's own makes one.
struct own_pair {
    float first, second;
};

} // namespace

template <>
struct ztensor::element_traits<own_pair> : ztensor::stored_as<ztensor::dtype::f32> {
    static constexpr std::string_view type = "own.pair";
};

namespace {

using support::outcome;
using support::refusal;
using support::temp_dir;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::store;
using ztensor::tensor_stream;
using ztensor::write_options;
using ztensor::writer;

const std::vector<float> two_floats = {1, 2};

/// Takes everything, and counts the pieces of no bytes.
class counting_sink final : public ztensor::byte_sink {
public:
    explicit counting_sink(std::size_t& empty_writes) : empty_writes_(empty_writes) {}
    result<void> write(ztensor::bytes_view piece) override {
        empty_writes_ += piece.empty();
        return {};
    }
    result<void> finish() override { return {}; }

private:
    std::size_t& empty_writes_;
};

object_draft of_components(std::size_t count) {
    object_draft draft("own", {2});
    for (std::size_t i = 0; i < count; ++i) {
        draft.component("part " + std::to_string(i), two_floats);
    }
    return draft;
}

} // namespace

TEST_CASE("an object that might not fit the manifest is refused before a byte of it is written") {
    for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        CAPTURE(static_cast<int>(version));
        support::sink_log log;
        writer out = writer::to_sink(std::make_unique<support::scripted_sink>(log),
                                     write_options().version(version).max_manifest_bytes(20000))
                         .value();
        std::size_t written = 0;
        std::size_t bytes_before = 0;
        result<void> added;
        while (added) {
            bytes_before = log.content.size();
            added = out.add("tensor " + std::to_string(written), {2}, two_floats);
            written += added.has_value();
        }
        CHECK(refusal(added) == errc::manifest_too_large);
        CHECK(added.error().object() == "tensor " + std::to_string(written));
        CHECK(log.content.size() == bytes_before);
        const auto refused_stream = out.stream<float>("a stream", {2});
        CHECK(refusal(refused_stream) == errc::manifest_too_large);
        const std::string long_name(4000, 'n');
        CHECK(refusal(out.add_object(long_name, object_draft("dense", {2}).component("data", two_floats))) ==
              errc::manifest_too_large);
        REQUIRE(out.finish()); // with all that were added
        const reader file = reader::from_bytes(log.content).value();
        CHECK(file.size() == written);
        CHECK(file.manifest_bytes() <= 20000);
        CHECK(file.manifest_bytes() > 19000);
    }
}

TEST_CASE("attributes of the file take their part of the manifest") {
    writer out = writer::to_memory(write_options().max_manifest_bytes(10000)).value();
    REQUIRE(out.attributes(ztensor::attributes().set("note", std::string(9000, 'x'))));
    CHECK(refusal(out.attributes(ztensor::attributes().set("note", std::string(11000, 'x')))) ==
          errc::manifest_too_large);
    REQUIRE(out.add("w", {2}, two_floats));
    CHECK(refusal(out.add_object("v", object_draft("dense", {2})
                                          .component("data", two_floats)
                                          .attributes(ztensor::attributes().set("k", std::string(600, 'y'))))) ==
          errc::manifest_too_large);
    CHECK(refusal(out.add_tied(std::string(1000, 'v'), "w")) == errc::manifest_too_large);
    REQUIRE(out.add_tied("v", "w"));
    const reader file = support::opened(support::finished(out));
    CHECK(file.attributes().size() == 1);
    CHECK(file.manifest_bytes() <= 10000);
}

TEST_CASE("a writer takes as many components as its own limit says, and so does a copy") {
    writer out = support::to_memory();
    const result<void> refused = out.add_object("many", of_components(4097));
    CHECK(refusal(refused) == errc::limit_exceeded);
    CHECK_THAT(refused.error().what(), support::contains_text("write_options::max_components_per_object"));
    REQUIRE(out.add_object("many", of_components(4096)));

    const auto many = write_options().max_components_per_object(5000);
    writer raised = writer::to_memory(many).value();
    REQUIRE(raised.add_object("more", of_components(5000)));
    CHECK(refusal(raised.add_object("too many", of_components(5001))) == errc::limit_exceeded);
    REQUIRE(raised.finish());
    const auto content = raised.take_bytes();
    CHECK(refusal(reader::from_bytes(content)) == errc::limit_exceeded);
    const reader file = reader::from_bytes(content, read_options().max_components_per_object(5000)).value();
    writer same = writer::to_memory(many).value();
    REQUIRE(ztensor::copy(file, same));
    REQUIRE(same.finish());
    CHECK((same.take_bytes() == content));
    writer fewer = support::to_memory();
    CHECK(refusal(ztensor::copy(file, fewer)) == errc::limit_exceeded);
    REQUIRE(fewer.add("w", {2}, two_floats)); // it goes on
}

TEST_CASE("a sink is given no pieces without bytes") {
    std::size_t empty_writes = 0;
    for (const format_version version : {format_version::v0_1, format_version::v1_2}) {
        for (const bool has_objects : {false, true}) {
            writer out =
                writer::to_sink(std::make_unique<counting_sink>(empty_writes), write_options().version(version))
                    .value();
            for (int i = 0; has_objects && i < 4; ++i) {
                store how;
                how = i % 2 == 0 ? how : store().zstd();
                how = i < 2 ? how : how.digest(ztensor::digest::sha256);
                const std::string name = std::to_string(i);
                out.add("none " + name, {0}, std::vector<float>(), how).value();
                out.add("some " + name, {2}, two_floats, how).value();
                tensor_stream pieces = out.stream<float>("stream " + name, {2}, how).value();
                pieces.append(std::vector<float>()).value();
                pieces.append(two_floats).value();
                pieces.append_bytes({}).value();
                pieces.finish().value();
            }
            out.finish().value();
        }
    }
    CHECK(empty_writes == 0);
}

TEST_CASE("a stream that is over may outlive its writer") {
    result<tensor_stream> finished = ztensor::error(errc::cancelled, "");
    result<tensor_stream> failed = ztensor::error(errc::cancelled, "");
    {
        writer out = support::to_memory();
        finished = out.stream<float>("w", {2});
        finished->append(two_floats).value();
        finished->finish().value();
        support::sink_log log;
        writer failing = writer::to_sink(std::make_unique<support::scripted_sink>(log, 2)).value();
        failed = failing.stream<float>("w", {2});
        REQUIRE(failed.has_value());
        const bool is_written = failed->append(two_floats).has_value() && failed->finish().has_value();
        CHECK_FALSE(is_written);
    }
    for (result<tensor_stream>* const each : {&finished, &failed}) {
        CHECK(refusal((*each)->append(two_floats)) == errc::writer_closed);
        CHECK(refusal((*each)->append_bytes({})) == errc::writer_closed);
        CHECK(refusal((*each)->attributes({})) == errc::writer_closed);
        CHECK(refusal((*each)->finish()) == errc::writer_closed);
        CHECK((*each)->missing_bytes() == 0);
    }
}

TEST_CASE("writers and streams that were moved from say that they are closed") {
    writer old = support::to_memory(format_version::v1_1);
    tensor_stream old_stream = old.stream<float>("w", {2}).value();
    tensor_stream stream = std::move(old_stream);
    writer out = std::move(old);
    CHECK(refusal(old_stream.append(two_floats)) == errc::writer_closed);
    CHECK(refusal(old_stream.finish()) == errc::writer_closed);
    CHECK(old_stream.missing_bytes() == 0);
    const std::vector<std::uint64_t> index = {0, 1};
    CHECK(refusal(old.add("v", {2}, two_floats)) == errc::writer_closed);
    CHECK(refusal(old.add("v", {2}, std::vector<bool>(2))) == errc::writer_closed);
    CHECK(refusal(old.add_bytes("v", {0}, ztensor::dtype::u8, {})) == errc::writer_closed);
    CHECK(refusal(old.add_object("v", of_components(1))) == errc::writer_closed);
    CHECK(refusal(old.add_csr("v", {1, 2}, std::vector<float>{1}, std::vector<std::uint64_t>{0}, index)) ==
          errc::writer_closed);
    CHECK(refusal(old.add_coo("v", {2}, std::vector<float>{1}, std::vector<std::uint64_t>{0})) == errc::writer_closed);
    CHECK(refusal(old.add_quantized("v", {2}, {}, index, two_floats, two_floats)) == errc::writer_closed);
    CHECK(refusal(old.stream<float>("v", {2})) == errc::writer_closed);
    CHECK(refusal(old.attributes({})) == errc::writer_closed);
    CHECK(refusal(old.add_attributes(ztensor::attributes_view())) == errc::writer_closed);
    CHECK(refusal(old.finish()) == errc::writer_closed);
    CHECK(old.take_bytes().empty());
    CHECK(old.version() == format_version::v1_2);
    writer source = support::to_memory();
    REQUIRE(source.finish());
    const reader nothing = reader::from_bytes(source.take_bytes()).value();
    CHECK(refusal(ztensor::copy(nothing, old)) == errc::writer_closed);
    REQUIRE(stream.append(two_floats));
    REQUIRE(stream.finish());
    REQUIRE(out.finish());
}

TEST_CASE("a stream of elements that are several numbers takes whole ones, of its own size") {
    writer out = support::to_memory();
    const std::vector<std::complex<float>> complex = {{1, 2}, {3, 4}};
    const std::vector<own_pair> pairs = {{1, 2}, {3, 4}, {5, 6}};
    tensor_stream of_complex = out.stream<std::complex<float>>("complex", {2}).value();
    CHECK(of_complex.missing_bytes() == 16);
    REQUIRE(of_complex.append(complex));
    REQUIRE(of_complex.finish());
    tensor_stream of_pairs = out.stream<own_pair>("pairs", {3}).value();
    CHECK(of_pairs.missing_bytes() == 24);
    REQUIRE(of_pairs.append(std::vector<own_pair>(pairs.begin(), pairs.begin() + 1)));
    CHECK(refusal(of_pairs.finish()) == errc::size_mismatch); // half of them would have been enough
    REQUIRE(of_pairs.append(std::vector<own_pair>(pairs.begin() + 1, pairs.end())));
    REQUIRE(of_pairs.finish());
    tensor_stream of_floats = out.stream<float>("floats", {2}).value();
    CHECK(refusal(of_floats.append(std::vector<std::complex<float>>(1))) == errc::type_mismatch);
    CHECK(refusal(of_floats.append(std::vector<own_pair>(1))) == errc::type_mismatch);
    CHECK(refusal(of_floats.append(std::vector<std::int32_t>(1))) == errc::type_mismatch);
    REQUIRE(of_floats.append(two_floats));
    REQUIRE(of_floats.finish());
    const reader file = support::opened(support::finished(out));
    CHECK(file.read<std::complex<float>>("complex").value() == complex);
    CHECK(file.find("pairs")->data()->type().text() == "own.pair");
    CHECK(file.find("pairs")->data()->stored_bytes() == 24);
    CHECK(file.read<float>("floats").value() == two_floats);
}

TEST_CASE("a streamed tensor has attributes, if they are given before it is finished") {
    for (const format_version version : {format_version::v0_1, format_version::v1_2}) {
        writer out = support::to_memory(version);
        tensor_stream stream = out.stream<float>("w", {2}).value();
        REQUIRE(stream.attributes(ztensor::attributes().set("unit", "m")));
        CHECK(refusal(stream.attributes(ztensor::attributes().set("\xff", 1))) == errc::name_invalid);
        CHECK(outcome(stream.attributes(ztensor::attributes().set("layout", 1))) ==
              (version == format_version::v0_1 ? "not_expressible" : "ok"));
        REQUIRE(stream.append(two_floats));
        REQUIRE(stream.attributes(ztensor::attributes().set("unit", "km")));
        REQUIRE(stream.finish());
        tensor_stream without = out.stream<float>("v", {2}).value();
        REQUIRE(without.append(two_floats));
        REQUIRE(without.finish());
        const reader file = support::opened(support::finished(out));
        CHECK(file.find("w")->attributes().size() == 1);
        CHECK(file.find("w")->attributes().text("unit").value() == "km");
        CHECK_FALSE(file.find("v")->has_attributes());
    }
}

TEST_CASE("sparse bools are written from vectors and from arrays of bool") {
    for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        writer out = support::to_memory(version);
        const std::vector<std::uint64_t> columns = {0, 2}, pointers = {0, 1, 2};
        const bool array[] = {true, false};
        const std::vector<bool> vector = {true, false};
        REQUIRE(out.add_csr("csr, array", {2, 3}, array, columns, pointers));
        REQUIRE(out.add_csr("csr, vector", {2, 3}, vector, columns, pointers));
        REQUIRE(out.add_coo("coo, array", {3}, array, columns));
        REQUIRE(out.add_coo("coo, vector", {3}, vector, columns));
        CHECK(refusal(out.add_coo("too few", {3}, vector, pointers)) == errc::sparse_size);
        const reader file = support::opened(support::finished(out));
        REQUIRE(file.size() == 4);
        for (const char* const name : {"csr, array", "csr, vector"}) {
            const auto matrix = ztensor::csr_view<std::byte>::read(file.find(name).value()).value();
            CHECK((std::vector<std::byte>(matrix.values().begin(), matrix.values().end()) ==
                   std::vector<std::byte>{std::byte{1}, std::byte{0}}));
        }
        for (const char* const name : {"coo, array", "coo, vector"}) {
            const auto tensor = ztensor::coo_view<std::byte>::read(file.find(name).value()).value();
            CHECK((std::vector<std::byte>(tensor.values().begin(), tensor.values().end()) ==
                   std::vector<std::byte>{std::byte{1}, std::byte{0}}));
        }
    }
}

TEST_CASE("arrays are elements, and a version that is none is refused") {
    const float array[2] = {1, 2};
    writer out = support::to_memory();
    REQUIRE(out.add("array", {2}, array));
    REQUIRE(out.add_object("draft", object_draft("dense", {2}).component("data", array)));
    tensor_stream stream = out.stream<float>("stream", {2}).value();
    REQUIRE(stream.append(array));
    REQUIRE(stream.finish());
    const reader file = support::opened(support::finished(out));
    for (const char* const name : {"array", "draft", "stream"}) {
        CHECK(file.read<float>(name).value() == two_floats);
    }
    const temp_dir directory;
    for (const int version : {4, 255}) {
        const auto options = write_options().version(static_cast<format_version>(version));
        CHECK(refusal(writer::to_memory(options)) == errc::invalid_argument);
        CHECK(refusal(writer::create(directory / "f", options)) == errc::invalid_argument);
    }
    CHECK(directory.names().empty());
}

TEST_CASE("levels of zstd are those that libzstd has, negative ones too") {
    writer out = support::to_memory();
    const std::vector<float> zeros(100000);
    for (const int level : {-131072, -1, 0, 22}) {
        REQUIRE(out.add("at " + std::to_string(level), {zeros.size()}, zeros, store().zstd(level)));
    }
    for (const int level : {-131073, 23}) {
        CHECK(refusal(out.add("w", {zeros.size()}, zeros, store().zstd(level))) == errc::invalid_argument);
    }
    const reader file = support::opened(support::finished(out));
    CHECK(file.read<float>("at -131072").value() == zeros);
}

TEST_CASE("a copy that can't read a blob closes its target, and one that is refused leaves it open") {
    writer source = support::to_memory();
    const std::vector<float> much(2000000, 1.5F);
    source.add("first", {2}, two_floats).value();
    source.add("second", {much.size()}, much).value();
    const support::bytes content = support::finished(source);
    const support::watched from = support::watch(content);
    from.source->first_failing_read = from.source->reads.size() + 3; // within the second blob
    writer to = support::to_memory();
    CHECK(refusal(ztensor::copy(from.file, to)) == errc::io_error);
    CHECK(refusal(to.add("w", {2}, two_floats)) == errc::writer_closed);
    CHECK(refusal(to.finish()) == errc::writer_closed);

    writer other = support::to_memory();
    const reader file = support::opened(content);
    const auto renamed = ztensor::copy_options().rename(
        [](std::string_view name) { return name == "second" ? std::string() : std::string(name); });
    CHECK(refusal(ztensor::copy(file, other, renamed)) == errc::name_invalid);
    REQUIRE(other.add("w", {2}, two_floats));
    const reader half = support::opened(support::finished(other));
    CHECK(half.size() == 2);
    CHECK(half.read<float>("first").value() == two_floats);
}
