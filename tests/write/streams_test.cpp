// SPDX-License-Identifier: MIT
//
// Tensors written in pieces, and what is left behind when a file can't be finished.
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/refusal.hpp"
#include "support/scripted_sink.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "write/dense_check.hpp"
#include "write/write_samples.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using support::as_in_file;
using support::byte_vector;
using support::bytes;
using support::from_hex;
using support::noise;
using support::outcome;
using support::reopened;
using support::scripted_sink;
using support::sink_log;
using support::some_elements;
using support::temp_dir;
using support::to_memory;
using support::to_vector;
using support::written;
using write_samples::four_floats;
using ztensor::attributes;
using ztensor::byte_sink;
using ztensor::bytes_view;
using ztensor::digest;
using ztensor::dtype;
using ztensor::errc;
using ztensor::error;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::reader;
using ztensor::result;
using ztensor::span;
using ztensor::store;
using ztensor::tensor_stream;
using ztensor::write_options;
using ztensor::writer;

} // namespace

TEST_CASE("big-endian data is written as such in 0.1, in one piece or in many, and refused elsewhere") {
    const reader file = reopened(write_options().version(format_version::v0_1), [](writer& out) {
        out.add("whole", {4}, four_floats, store().big_endian()).value();
        tensor_stream stream = out.stream("in pieces", {4}, dtype::f32, store().big_endian()).value();
        stream.append(span<const float>(four_floats).first(1)).value();
        stream.append(span<const float>(four_floats).subspan(1)).value();
        stream.finish().value();
    });
    for (const char* const name : {"whole", "in pieces"}) {
        CHECK(file.find(name)->data()->is_big_endian());
        CHECK(file.read<float>(name).value() == four_floats);
    }
    const reader single = reopened(write_options().version(format_version::v0_1), [](writer& out) {
        out.add("bytes", {2}, std::vector<std::uint8_t>{1, 2}, store().big_endian()).value(); // says nothing of them
    });
    CHECK_FALSE(single.find("bytes")->data()->is_big_endian());
    const auto begun = [](const result<tensor_stream>& stream) { return outcome(stream); };
    for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        writer out = to_memory(version);
        const store compressed = store().zstd().big_endian();
        CHECK(outcome(out.add("w", {4}, four_floats, compressed)) == "not_expressible");
        CHECK(begun(out.stream("w", {4}, dtype::f32, compressed)) == "not_expressible");
        if (version != format_version::v0_1) {
            CHECK(outcome(out.add("w", {4}, four_floats, store().big_endian())) == "not_expressible");
            CHECK(begun(out.stream("w", {4}, dtype::f32, store().big_endian())) == "not_expressible");
        }
    }
}

TEST_CASE("a stream that is over has nothing to do with the next one") {
    const reader file = reopened({}, [](writer& out) {
        tensor_stream stream = out.stream("first", {4}, dtype::f32).value();
        stream.append(four_floats).value();
        stream.finish().value();
        {
            tensor_stream over = std::move(stream);
            stream = out.stream("second", {4}, dtype::f32).value();
            CHECK(outcome(over.append(four_floats)) == "writer_closed");
            CHECK(outcome(over.finish()) == "writer_closed");
            CHECK(over.missing_bytes() == 0);
        } // and it goes while the second one is open
        CHECK(stream.missing_bytes() == 16);
        stream.append(four_floats).value();
        stream.finish().value();
        stream = out.stream("third", {4}, dtype::f32).value();
        stream.append(four_floats).value();
        stream.finish().value();
    });
    for (const char* const name : {"first", "second", "third"}) {
        CHECK(file.read<float>(name).value() == four_floats);
    }
}

TEST_CASE("a tensor written in pieces of any size is the tensor written at once") {
    std::mt19937 random(3);
    const std::vector<float> elements = some_elements<float>(30000);
    const span<const float> all(elements);
    const byte_vector raw_bytes = to_vector(as_in_file(elements));
    const store stores[] = {store(), store().digest(digest::sha256), store().zstd(1),
                            store().zstd(3).digest(digest::crc32c)};
    for (const store& how : stores) {
        const byte_vector at_once = written({}, [&](writer& out) {
            out.add("w", {300, 100}, elements, how).value();
            out.add("after", {4}, four_floats).value();
        });
        for (const std::size_t most : {std::size_t{1000}, std::size_t{20000}, std::size_t{30000}}) {
            for (const bool as_bytes : {false, true}) {
                CAPTURE(most, as_bytes, name(how.encoding()));
                const byte_vector in_pieces = written({}, [&](writer& out) {
                    tensor_stream stream = out.stream("w", {300, 100}, dtype::f32, how).value();
                    const std::size_t total = as_bytes ? raw_bytes.size() : elements.size();
                    for (std::size_t at = 0; at < total;) {
                        const std::size_t taken = std::min<std::size_t>(random() % (most + 1), total - at);
                        REQUIRE(stream.missing_bytes() == (total - at) * (as_bytes ? 1 : 4));
                        if (as_bytes) {
                            stream.append_bytes(bytes_view(raw_bytes).subspan(at, taken)).value();
                        } else {
                            stream.append(all.subspan(at, taken)).value();
                        }
                        at += taken;
                    }
                    CHECK(stream.missing_bytes() == 0);
                    stream.finish().value();
                    out.add("after", {4}, four_floats).value();
                });
                if (how.encoding() == ztensor::encoding::raw) {
                    CHECK(in_pieces == at_once);
                }
                const reader file = reader::from_bytes(bytes_view(in_pieces)).value();
                check_tensor(file, "w", {300, 100}, elements);
                CHECK(file.read<float>("after").value() == four_floats);
                CHECK(file.verify().value().ok());
                CHECK(file.find("w").value().data().value().digest().text().empty() == (how.digest() == digest::none));
            }
        }
    }
}

TEST_CASE("a stream of one byte at a time, of nothing, and of a scalar") {
    const byte_vector bytes = from_hex("0000803f 00000040");
    const reader file = reopened({}, [&](writer& out) {
        tensor_stream single = out.stream("single", {2}, dtype::f32, store().zstd()).value();
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            single.append_bytes(bytes_view(bytes).subspan(i, 1)).value();
        }
        single.finish().value();
        tensor_stream nothing = out.stream("nothing", {0, 5}, dtype::f64, store().zstd()).value();
        CHECK(nothing.missing_bytes() == 0);
        nothing.append(std::vector<double>()).value();
        nothing.finish().value();
        tensor_stream scalar = out.stream("scalar", {}, dtype::i16).value();
        scalar.append(std::array<std::int16_t, 1>{7}).value();
        scalar.finish().value();
        tensor_stream complex = out.stream("complex", {2}, dtype::f32, store().type("complex64")).value();
        CHECK(complex.missing_bytes() == 16);
        complex.append(std::vector<std::complex<float>>{{1, 2}}).value();
        complex.append(std::vector<float>{3, 4}).value();
        complex.finish().value();
    });
    CHECK(file.read<float>("single").value() == std::vector<float>{1, 2});
    CHECK(file.read<double>("nothing").value().empty());
    CHECK(file.read<std::int16_t>("scalar").value() == std::vector<std::int16_t>{7});
    CHECK(file.read<std::complex<float>>("complex").value() == std::vector<std::complex<float>>{{1, 2}, {3, 4}});
}

TEST_CASE("a stream refuses what does not belong to it, and goes on") {
    writer out = to_memory();
    tensor_stream stream = out.stream("w", {4}, dtype::f32).value();
    stream.append(std::vector<float>{1, 2}).value();
    CHECK(outcome(stream.append(std::vector<double>{1})) == "type_mismatch");
    CHECK(outcome(stream.append(std::vector<std::int32_t>{1})) == "type_mismatch");
    CHECK(outcome(stream.append(std::vector<float>{1, 2, 3})) == "size_mismatch");
    CHECK(outcome(stream.append_bytes(noise(9))) == "size_mismatch");
    CHECK(outcome(stream.finish()) == "size_mismatch");
    CHECK(stream.missing_bytes() == 8);
    // The writer itself is busy.
    CHECK(outcome(out.add("x", {4}, four_floats)) == "writer_closed");
    CHECK(outcome(out.attributes(attributes().set("k", 1))) == "writer_closed");
    CHECK(outcome(out.stream("x", {4}, dtype::f32)) == "writer_closed");
    CHECK(outcome(out.finish()) == "writer_closed");
    stream.append(std::vector<float>{3, 4}).value();
    stream.finish().value();
    CHECK(stream.missing_bytes() == 0);
    CHECK(outcome(stream.append(std::vector<float>{5})) == "writer_closed");
    CHECK(outcome(stream.append_bytes({})) == "writer_closed");
    CHECK(outcome(stream.finish()) == "writer_closed");
    out.add("x", {4}, four_floats).value();
    out.finish().value();
    CHECK(out.take_bytes() == written({}, [](writer& plain) {
              plain.add("w", {4}, four_floats).value();
              plain.add("x", {4}, four_floats).value();
          }));
}

TEST_CASE("a stream that is dropped takes the file with it") {
    const temp_dir directory;
    support::write_file(directory / "f", "the old content");
    {
        writer out = writer::create(directory / "f").value();
        out.add("before", {4}, four_floats).value();
        {
            tensor_stream stream = out.stream("w", {4}, dtype::f32).value();
            stream.append(std::vector<float>{1, 2}).value();
        }
        CHECK(directory.names() == std::vector<std::string>{"f"});
        CHECK(outcome(out.add("x", {4}, four_floats)) == "writer_closed");
        CHECK(outcome(out.stream("x", {4}, dtype::f32)) == "writer_closed");
        CHECK(outcome(out.attributes({})) == "writer_closed");
        CHECK(outcome(out.finish()) == "writer_closed");
        CHECK(outcome(out.finish()) == "writer_closed");
    }
    CHECK(directory.names() == std::vector<std::string>{"f"});
    CHECK(support::read_file(directory / "f") == "the old content");

    writer in_memory = to_memory();
    { const tensor_stream dropped = in_memory.stream("w", {0}, dtype::f32).value(); }
    CHECK(outcome(in_memory.finish()) == "writer_closed");
    CHECK(in_memory.take_bytes().empty());
}

TEST_CASE("nothing is seen of a file before it is finished, nor when it never is") {
    const temp_dir directory;
    support::write_file(directory / "old", "the old content");
    for (const char* const name : {"old", "new"}) {
        const std::string before = support::read_file(directory / name);
        {
            writer out = writer::create(directory / name).value();
            out.add("w", {500000}, some_elements<double>(500000)).value();
            CHECK(support::read_file(directory / name) == before);
        }
        CHECK(directory.names() == std::vector<std::string>{"old"});
        CHECK(support::read_file(directory / "old") == "the old content");
    }
    writer out = writer::create(directory / "old").value();
    out.add("w", {4}, four_floats).value();
    out.finish().value();
    CHECK(directory.names() == std::vector<std::string>{"old"});
    CHECK(reader::open(directory / "old").value().read<float>("w").value() == four_floats);
}

TEST_CASE("nothing more is written once a file is finished") {
    writer out = to_memory();
    out.finish().value();
    const byte_vector content = out.take_bytes();
    CHECK(content.size() == 48);
    CHECK(outcome(out.finish()) == "writer_closed");
    CHECK(outcome(out.add("x", {4}, four_floats)) == "writer_closed");
    CHECK(outcome(out.add_object("x", object_draft("own", {}).component("c", four_floats))) == "writer_closed");
    CHECK(outcome(out.attributes({})) == "writer_closed");
    CHECK(outcome(out.stream("x", {4}, dtype::f32)) == "writer_closed");
    CHECK(out.take_bytes().empty());
}

TEST_CASE("a place where no file can be is refused") {
    const temp_dir directory;
    CHECK(outcome(writer::create(directory.path())) == "not_regular_file");
    const result<writer> nowhere = writer::create(directory / "absent" / "f.zt");
    REQUIRE(outcome(nowhere) == "io_error");
    CHECK(nowhere.error().path().find("f.zt") != std::string::npos);
    CHECK(directory.names().empty());
}

namespace {

struct writing {
    writer out;
    std::unique_ptr<tensor_stream> stream;
};

using step = std::function<result<void>(writing&)>;

step begin_stream(const std::string& name, const store& how) {
    return [=](writing& at) -> result<void> {
        at.stream.reset();
        result<tensor_stream> begun = at.out.stream(name, {2000}, dtype::u16, how);
        if (!begun) {
            return begun.error();
        }
        at.stream = std::make_unique<tensor_stream>(*std::move(begun));
        return {};
    };
}

step append_to_stream(std::size_t from, std::size_t count) {
    return [=](writing& at) -> result<void> {
        static const std::vector<std::uint16_t> elements = some_elements<std::uint16_t>(2000);
        return at.stream ? at.stream->append(span<const std::uint16_t>(elements).subspan(from, count))
                         : result<void>(error(errc::writer_closed, "there is no stream"));
    };
}

step finish_stream() {
    return [](writing& at) {
        return at.stream ? at.stream->finish() : result<void>(error(errc::writer_closed, "there is no stream"));
    };
}

/// Every kind of call that writes.
std::vector<step> every_kind_of_step() {
    return {
        [](writing& at) { return at.out.add("raw", {4}, four_floats); },
        [](writing& at) { return at.out.attributes(attributes().set("k", 1)); },
        [](writing& at) {
            return at.out.add("zstd", {1000}, some_elements<float>(1000), store().zstd().digest(digest::sha256));
        },
        begin_stream("stream", {}),
        append_to_stream(0, 1000),
        append_to_stream(1000, 1000),
        finish_stream(),
        begin_stream("compressed stream", store().zstd(3).digest(digest::crc32c)),
        append_to_stream(0, 1999),
        append_to_stream(1999, 1),
        finish_stream(),
        [](writing& at) {
            return at.out.add_object(
                "object",
                object_draft("own", {}).component("a", four_floats).component("b", four_floats, store().zstd()));
        },
        [](writing& at) { return at.out.finish(); },
    };
}

/// Takes all steps with a sink that fails as told: the first that fails says why, and after it nothing goes any more.
void check_failing(std::size_t failing_write, bool fails_to_finish) {
    CAPTURE(failing_write, fails_to_finish);
    sink_log log;
    result<writer> created = writer::to_sink(std::make_unique<scripted_sink>(log, failing_write, fails_to_finish));
    if (!created) {
        CHECK(failing_write == 0);
        CHECK(outcome(created) == "io_error");
        CHECK(log.is_gone);
        return;
    }
    {
        writing at{*std::move(created), nullptr};
        bool is_broken = false;
        for (const step& each : every_kind_of_step()) {
            const std::string code = outcome(each(at));
            CHECK(code == (is_broken ? "writer_closed" : log.has_failed ? "io_error" : "ok"));
            is_broken = log.has_failed;
        }
        CHECK(is_broken);
        CHECK(outcome(at.out.finish()) == "writer_closed");
        CHECK(at.out.take_bytes().empty());
        at.stream.reset();
    }
    CHECK(log.is_gone);
    CHECK_FALSE(log.is_published);
    CHECK(log.calls_after_failure == 0);
}

} // namespace

TEST_CASE("an exception out of the caller's sink ends the writer") {
    struct throwing_sink final : byte_sink {
        explicit throwing_sink(int& writes_left) : writes_left_(writes_left) {}
        result<void> write(bytes_view) override {
            if (writes_left_-- == 0) {
                throw std::runtime_error("the sink's own");
            }
            return {};
        }
        result<void> finish() override { return {}; }
        int& writes_left_;
    };
    for (int throwing = 1; throwing < 4; ++throwing) {
        int writes_left = throwing;
        writer out = writer::to_sink(std::make_unique<throwing_sink>(writes_left)).value();
        const auto add_and_finish = [&] {
            out.add("w", {4}, four_floats, store().zstd()).value();
            out.finish().value();
        };
        CHECK_THROWS_AS(add_and_finish(), std::runtime_error);
        CHECK(outcome(out.add("x", {4}, four_floats)) == "writer_closed");
        CHECK(outcome(out.finish()) == "writer_closed");
    }
}

TEST_CASE("whichever write fails, every later call says so and nothing is published") {
    sink_log log;
    {
        writing at{writer::to_sink(std::make_unique<scripted_sink>(log)).value(), nullptr};
        for (const step& each : every_kind_of_step()) {
            each(at).value();
        }
    }
    REQUIRE(log.is_published);
    REQUIRE(log.writes > 15);
    CHECK(reader::from_bytes(byte_vector(log.content)).value().size() == 5);
    for (std::size_t failing = 0; failing < log.writes; ++failing) {
        check_failing(failing, false);
    }
    check_failing(scripted_sink::never, true);
}

TEST_CASE("a stream whose sink failed stays failed") {
    // Fails in the stream's first write, behind the magic and the padding.
    for (const store& how : {store(), store().zstd()}) {
        sink_log log;
        writer out = writer::to_sink(std::make_unique<scripted_sink>(log, 2), write_options().threads(1)).value();
        tensor_stream stream = out.stream("w", {2 << 20}, dtype::u8, how).value();
        const byte_vector bytes = noise(2 << 20); // frames of 1 MiB are compressed
        result<void> last;
        for (std::size_t at = 0; at < bytes.size() && last; at += 4096) {
            last = stream.append_bytes(bytes_view(bytes).subspan(at, 4096));
        }
        CHECK(outcome(last) == "io_error");
        CHECK(outcome(stream.append_bytes(bytes_view(bytes).first(1))) == "writer_closed");
        CHECK(outcome(stream.append_bytes({})) == "writer_closed");
        CHECK(outcome(stream.finish()) == "writer_closed");
        CHECK(outcome(out.finish()) == "writer_closed");
        CHECK(log.calls_after_failure == 0);
    }
}

TEST_CASE("a stream that failed in its last write does not finish") {
    sink_log log;
    writer out = writer::to_sink(std::make_unique<scripted_sink>(log, 2)).value();
    tensor_stream stream = out.stream("w", {4}, dtype::f32).value();
    CHECK(outcome(stream.append(four_floats)) == "io_error");
    CHECK(outcome(stream.finish()) == "writer_closed");
    CHECK(outcome(out.finish()) == "writer_closed");
    CHECK_FALSE(log.is_published);
}
