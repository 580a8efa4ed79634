// SPDX-License-Identifier: MIT
//
// Sinks that are asked what they hold, in which other processes write, or that are no longer what they were: blobs of
// version 2 with digests that lie, files past the cache, forks, sources that writing would destroy.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/editor.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace shared_and_held {

using support::bytes;
using support::faulty_os;
using support::read_file;
using support::refusal;
using support::temp_dir;
using ztensor::errc;
using ztensor::format_version;
using ztensor::publish_mode;
using ztensor::reader;
using ztensor::result;
using ztensor::write_options;
using ztensor::writer;
namespace detail = ztensor::detail;

constexpr std::size_t one_mebibyte = std::size_t{1} << 20;

/// Takes every wish to go past its cache.
class uncached_os final : public faulty_os {
public:
    std::error_code set_direct(detail::os_handle, bool is_direct) override {
        return is_direct || goes_back ? std::error_code() : std::make_error_code(std::errc::invalid_argument);
    }
    bool goes_back = true;
};

/// Takes the first MiB of one write, and then finds that it can't go on so.
class halting_os final : public faulty_os {
public:
    detail::os_answer<std::size_t> write(detail::os_handle file, ztensor::bytes_view content) override {
        const std::size_t write_number = count("write");
        if (write_number == 2) {
            static_cast<void>(faulty_os::write(file, {}));
            return {0, std::make_error_code(std::errc::invalid_argument)};
        }
        return faulty_os::write(file, write_number == 1 ? content.first(std::size_t{1} << 20) : content);
    }
    std::error_code set_direct(detail::os_handle, bool) override { return {}; }
};

write_options quick(format_version version = format_version::v1_2) {
    return write_options().version(version).sync(false).threads(1);
}

std::vector<std::uint8_t> filled(std::size_t count, std::uint8_t with) {
    std::vector<std::uint8_t> all(count, with);
    all.front() = static_cast<std::uint8_t>(with + 1);
    return all;
}

/// What a file of version 2 says of the component.
std::string digest_of(const reader& file, const char* object) {
    return std::string(file.find(object).value().data().value().digest().text());
}

/// The file with `from` replaced by `to`, of the same length, in its manifest.
bytes with_other_text(bytes file, const std::string& from, const std::string& to) {
    const auto footer = detail::decode_footer_2(support::bytes_of(file).last(detail::footer_bytes_2));
    const auto begin = static_cast<std::size_t>(footer.manifest_offset);
    const auto length = static_cast<std::size_t>(footer.manifest_length);
    const std::size_t at = file.find(from, begin);
    REQUIRE(at != bytes::npos);
    file.replace(at, from.size(), to);
    const auto end = detail::encode_footer_2(
        {begin, length, detail::xxh3_of(support::bytes_of(std::string_view(file).substr(begin, length)))});
    return file.substr(0, begin + length) + support::as_string({end.data(), end.size()});
}

/// Tensors "a" and "b" of other bytes and one digest, and "c", which is "a" again, at multiples of 4096.
bytes file_of_a_lying_digest(std::size_t size) {
    writer to = writer::to_memory(quick(format_version::v2).alignment_bytes(4096)).value();
    REQUIRE(to.add("a", {size}, filled(size, 1)));
    REQUIRE(to.add("b", {size}, filled(size, 2)));
    REQUIRE(to.add("c", {size}, filled(size, 1)));
    const bytes honest = support::finished(to);
    const reader file = reader::from_bytes(support::bytes_of(honest)).value();
    return with_other_text(honest, digest_of(file, "b"), digest_of(file, "a"));
}

/// A file by these calls.
reader open_by(const std::filesystem::path& path, detail::os_calls& os) {
    auto file = detail::file::open(path.native(), os).value();
    const auto positional = ztensor::read_options().mode(ztensor::io_mode::positional);
    return reader::from_source(std::make_shared<detail::file_source>(std::move(file), positional, path.string()))
        .value();
}

writer write_by(const std::filesystem::path& path, const write_options& options, detail::os_calls& os) {
    return writer::to_sink(detail::create_sink(path, options, os).value(), options).value();
}

/// Every blob is what it was; "c" is that of "a" if it `is_shared`, and "b" is its own.
void check_copied_blobs(const bytes& before, const bytes& after, bool is_shared) {
    const reader old = reader::from_bytes(support::bytes_of(before)).value();
    const reader copied = reader::from_bytes(support::bytes_of(after)).value();
    const auto place = [](const reader& of, const char* object) {
        return static_cast<std::size_t>(of.find(object).value().data().value().offset());
    };
    for (const char* const object : {"a", "b", "c"}) {
        const auto size = static_cast<std::size_t>(old.find(object).value().data().value().stored_bytes());
        CHECK(before.compare(place(old, object), size, after, place(copied, object), size) == 0);
    }
    CHECK(place(copied, "a") != place(copied, "b"));
    CHECK((place(copied, "a") == place(copied, "c")) == is_shared);
}

} // namespace shared_and_held

} // namespace

TEST_CASE("blobs of one digest and other bytes are compared where they are, and both written") {
    using namespace shared_and_held;
    const struct {
        std::size_t size;
        bool reads_back;
        bool is_shared; // what is in the file already
    } cases[] = {
        {100, false, true}, // still in memory
        {one_mebibyte + 5, true, true},
        {one_mebibyte + 5, false, false},
        {2 * one_mebibyte - 4096, true, true}, // up to a whole MiB, where nothing waits
    };
    for (const auto& each : cases) {
        CAPTURE(each.size, each.reads_back);
        const temp_dir directory;
        const bytes lying = file_of_a_lying_digest(each.size);
        support::write_file(directory / "from.zt", lying);
        const reader from = reader::open(directory / "from.zt", ztensor::read_options().verify_digests(false)).value();
        faulty_os os;
        os.failing_name = each.reads_back ? "" : "read";
        const auto options = quick(format_version::v2).alignment_bytes(4096);
        writer to = write_by(directory / "to.zt", options, os);
        REQUIRE(ztensor::copy(from, to));
        REQUIRE(to.finish());
        check_copied_blobs(lying, read_file(directory / "to.zt"), each.is_shared);

        writer in_memory = writer::to_memory(options).value();
        REQUIRE(ztensor::copy(from, in_memory));
        check_copied_blobs(lying, support::finished(in_memory), true);
    }
}

TEST_CASE("behind what was read back the next bytes stand where they belong") {
    using namespace shared_and_held;
    const temp_dir directory;
    const std::vector<std::uint8_t> first = filled(2 * one_mebibyte - 4096, 1), last = filled(2 * one_mebibyte, 3);
    writer source = writer::create(directory / "from.zt", quick(format_version::v2).alignment_bytes(4096)).value();
    REQUIRE(source.add("a", {first.size()}, first));
    REQUIRE(source.add("b", {1, first.size()}, first));
    REQUIRE(source.add("c", {last.size()}, last)); // which the system would move, had "b" not been looked for
    REQUIRE(source.finish());
    const reader from = reader::open(directory / "from.zt").value();
    faulty_os os;
    writer to = write_by(directory / "to.zt", quick(format_version::v2).alignment_bytes(4096), os);
    REQUIRE(ztensor::copy(from, to));
    REQUIRE(to.finish());
    const reader after = reader::open(directory / "to.zt").value();
    CHECK(after.verify().value().verified == 3);
    CHECK((after.find("c").value().read<std::uint8_t>().value() == last));
    CHECK((read_file(directory / "to.zt") == read_file(directory / "from.zt")));
}

TEST_CASE("a source that fails while its blobs are looked at ends the copy") {
    using namespace shared_and_held;
    writer old = writer::to_memory(quick()).value();
    REQUIRE(old.add("a", {3}, std::vector<float>{1, 2, 3}));
    const auto from = support::watch(support::finished(old));
    from.source->first_failing_read = from.source->reads.size();
    writer to = writer::to_memory(quick(format_version::v2)).value();
    CHECK(refusal(ztensor::copy(from.file, to)) == errc::io_error);
}

TEST_CASE("past the cache, too, a sink knows what it wrote, and goes on behind it") {
    using namespace shared_and_held;
    std::vector<std::byte> content(9 * one_mebibyte, std::byte{1});
    content[one_mebibyte + 7] = std::byte{2};
    for (const bool goes_back : {true, false}) {
        const temp_dir directory;
        uncached_os os;
        os.goes_back = goes_back;
        auto sink = detail::create_sink(directory / "f", quick().direct(true), os).value();
        REQUIRE(sink->write(content));
        const auto holds = [&](std::size_t offset, ztensor::bytes_view bytes) {
            detail::compared_bytes compared(*sink, offset);
            return compared.add(bytes);
        };
        const ztensor::bytes_view all(content);
        CHECK(holds(one_mebibyte, all.subspan(one_mebibyte, 100)));
        CHECK_FALSE(holds(one_mebibyte, all.first(100)));
        CHECK(holds(8 * one_mebibyte - 10, all.first(20))); // on the disk and in memory
        REQUIRE(sink->write(all.first(5000)));
        REQUIRE(sink->finish());
        const std::string written = read_file(directory / "f");
        REQUIRE(written.size() == all.size() + 5000);
        CHECK(std::memcmp(written.data(), all.data(), all.size()) == 0);
        CHECK(std::memcmp(written.data() + all.size(), all.data(), 5000) == 0);
    }
}

TEST_CASE("past the cache an old file comes by way of the buffer, not of the system") {
    using namespace shared_and_held;
    const temp_dir directory;
    const std::vector<std::uint8_t> old = filled(3 * one_mebibyte / 2, 1), added = {1, 2, 3};
    writer first = writer::create(directory / "f", quick()).value();
    REQUIRE(first.add("a", {old.size()}, old));
    REQUIRE(first.finish());
    uncached_os os;
    writer to = detail::append_to(directory / "f", quick().direct(true), os).value();
    REQUIRE(to.add("b", {3}, added));
    REQUIRE(to.finish());
    CHECK(os.bytes_copied == 0);
    const reader file = reader::open(directory / "f").value();
    CHECK((file.find("a").value().read<std::uint8_t>().value() == old));
    CHECK(file.find("b").value().read<std::uint8_t>().value() == added);
}

TEST_CASE("a write past the cache that fails for another reason than that is told") {
    using namespace shared_and_held;
    const temp_dir directory;
    uncached_os os;
    auto sink = detail::create_sink(directory / "f", quick().direct(true), os).value();
    os.failing_name = "write";
    const std::vector<std::byte> large(17 * one_mebibyte);
    CHECK(refusal(sink->write(large)) == errc::io_error);
    CHECK(os.count("write") == 1);
}

TEST_CASE("a write past the cache that is taken in part before that is refused is written once") {
    using namespace shared_and_held;
    const temp_dir directory;
    halting_os os;
    auto sink = detail::create_sink(directory / "f", quick().direct(true), os).value();
    std::vector<std::byte> content(21 * one_mebibyte);
    for (std::size_t i = 0; i < content.size(); i += 1000) {
        content[i] = static_cast<std::byte>(i / 1000);
    }
    REQUIRE(sink->write(content));
    REQUIRE(sink->finish());
    const std::string written = read_file(directory / "f");
    REQUIRE(written.size() == content.size());
    CHECK(std::memcmp(written.data(), content.data(), content.size()) == 0);
    CHECK(os.count("seek") == 1);
}

TEST_CASE("memory that lies as the disk wants it goes past the cache as it is") {
    using namespace shared_and_held;
    const temp_dir directory;
    uncached_os os;
    auto sink = detail::create_sink(directory / "f", quick().direct(true), os).value();
    std::vector<std::byte> room(17 * one_mebibyte, std::byte{7});
    const std::size_t begin = 4096 - detail::address_of(room.data()) % 4096;
    REQUIRE(sink->write(ztensor::bytes_view(room).subspan(begin, 16 * one_mebibyte)));
    CHECK(os.write_sizes == std::vector<std::size_t>{16 * one_mebibyte});
    REQUIRE(sink->finish());
    CHECK(std::filesystem::file_size(directory / "f") == 16 * one_mebibyte);
}

TEST_CASE("memory is not made ready for more than there can be") {
    shared_and_held::detail::memory_sink sink;
    sink.expect(~std::uint64_t{0});
    REQUIRE(sink.write(support::bytes_of("content")));
    REQUIRE(sink.finish());
    CHECK(support::refusal(sink.write(support::bytes_of("more"))) == ztensor::errc::writer_closed);
    CHECK(support::refusal(sink.finish()) == ztensor::errc::writer_closed);
    CHECK(support::as_string(sink.take()) == "content");
}

TEST_CASE("whatever is added in place, the last bytes of the file come last") {
    using namespace shared_and_held;
    const write_options in_place = quick().publish(publish_mode::in_place);
    const temp_dir directory;
    writer empty = writer::create(directory / "e", quick(format_version::v0_1)).value();
    REQUIRE(empty.finish());
    const std::string before = read_file(directory / "e");
    REQUIRE(writer::append(directory / "e", in_place).value().finish()); // a manifest of less than a footer
    CHECK(reader::open(directory / "e").value().empty());
    CHECK(read_file(directory / "e").substr(0, before.size()) == before);

    const std::vector<std::uint8_t> few_bytes = {1, 2, 3}, many_bytes = filled(5 * one_mebibyte / 2, 4);
    writer first = writer::create(directory / "f", quick().alignment_bytes(1 << 16)).value();
    REQUIRE(first.add("a", {3}, few_bytes));
    REQUIRE(first.finish());
    for (std::size_t gap = 0; gap < 64; ++gap) { // of which one leaves nothing to be padded
        std::filesystem::copy_file(directory / "f", directory / "g", std::filesystem::copy_options::overwrite_existing);
        writer more = writer::append(directory / "g", in_place).value();
        REQUIRE(more.attributes(ztensor::attributes().set("k", std::string(gap, 'x'))));
        REQUIRE(more.finish());
        if (std::filesystem::file_size(directory / "g") % 64 == 0) {
            break;
        }
    }
    REQUIRE(std::filesystem::file_size(directory / "g") % 64 == 0);
    const std::uint64_t old_bytes = std::filesystem::file_size(directory / "g");
    writer more = writer::append(directory / "g", in_place).value();
    REQUIRE(more.add("b", {many_bytes.size()}, many_bytes));
    REQUIRE(more.finish());
    const reader file = reader::open(directory / "g").value();
    CHECK((file.find("b").value().read<std::uint8_t>().value() == many_bytes));
    CHECK(file.find("b").value().component("data").value().offset() == old_bytes);
    CHECK(file.find("a").value().read<std::uint8_t>().value() == few_bytes);
}

TEST_CASE("a blob right behind an old file that ends at a multiple is compared with others") {
    using namespace shared_and_held;
    const write_options options = quick(format_version::v2).alignment_bytes(4096);
    const temp_dir directory;
    const auto size_with = [&](std::size_t gap) {
        writer first = writer::create(directory / "f", options).value();
        REQUIRE(first.attributes(ztensor::attributes().set("k", std::string(gap, 'x'))));
        REQUIRE(first.add("first", {1}, std::vector<std::uint8_t>{1}));
        REQUIRE(first.finish());
        return static_cast<std::size_t>(std::filesystem::file_size(directory / "f"));
    };
    for (const std::size_t multiple : {std::size_t{4096}, one_mebibyte}) { // of which the system moves whole ones
        std::size_t gap = multiple - size_with(66000) % multiple + 66000;
        if (size_with(gap) % multiple != 0) {
            gap -= size_with(gap) % multiple;
        }
        const std::size_t old_bytes = size_with(gap);
        REQUIRE(old_bytes % multiple == 0);
        for (const std::size_t size : {std::size_t{100}, one_mebibyte + 5, 3 * one_mebibyte}) {
            CAPTURE(multiple, size);
            const bytes lying = file_of_a_lying_digest(size);
            support::write_file(directory / "from.zt", lying);
            const reader from =
                reader::open(directory / "from.zt", ztensor::read_options().verify_digests(false)).value();
            std::filesystem::copy_file(directory / "f", directory / "g",
                                       std::filesystem::copy_options::overwrite_existing);
            writer to =
                writer::append(directory / "g", quick(format_version::v2).publish(publish_mode::in_place)).value();
            REQUIRE(ztensor::copy(from, to));
            REQUIRE(to.finish());
            const bytes after = read_file(directory / "g");
            check_copied_blobs(lying, after, true);
            const reader copied = reader::from_bytes(support::bytes_of(after)).value();
            CHECK(copied.find("a")->data()->offset() == old_bytes);
        }
    }
}

#if !defined(_WIN32)

TEST_CASE("a sink is of the process that opened it: another one writes, finishes and removes nothing") {
    using namespace shared_and_held;
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        const temp_dir directory;
        support::write_file(directory / "f", "old");
        auto sink = detail::create_sink(directory / "f", quick().publish(mode)).value();
        REQUIRE(sink->write(support::bytes_of("new")));
        const int code = support::exit_code_of([&] {
            const std::vector<std::byte> large(3 * one_mebibyte);
            const bool is_refused =
                refusal(sink->finish()) == errc::writer_closed && refusal(sink->write(large)) == errc::writer_closed;
            sink.reset();
            return is_refused ? 0 : 1;
        });
        CHECK(code == 0);
        CHECK(read_file(directory / "f") == "old");
        REQUIRE(sink->finish());
        CHECK(read_file(directory / "f") == "new");
        CHECK(directory.names() == std::vector<std::string>{"f"});
    }
}

TEST_CASE("in another process the system moves no bytes into a file, either") {
    using namespace shared_and_held;
    const temp_dir directory;
    const std::vector<std::uint8_t> most = filled(one_mebibyte - 64, 1); // up to a whole MiB
    for (const char* const name : {"f", "g"}) {
        writer to = writer::create(directory / name, quick()).value();
        REQUIRE(to.add(name, {2, most.size()}, filled(2 * most.size(), 1)));
        REQUIRE(to.finish());
    }
    writer first = writer::create(directory / "f", quick()).value();
    REQUIRE(first.add("f", {most.size()}, most));
    REQUIRE(first.finish());
    const reader from = reader::open(directory / "g").value();
    writer to = writer::append(directory / "f", quick()).value();
    CHECK(support::exit_code_of([&] { return refusal(ztensor::copy(from, to)) == errc::writer_closed ? 0 : 1; }) == 0);
    REQUIRE(ztensor::copy(from, to));
    REQUIRE(to.finish());
    CHECK(gone_on_with::content_of(directory / "f").size() == 2);
}

#endif

TEST_CASE("shards are new files, also where their root is written in place: what is copied from stays") {
    using namespace shared_and_held;
    const temp_dir directory;
    for (const char* const name : {"m-00001.zt", "other.zt"}) {
        writer to = writer::create(directory / name, quick()).value();
        REQUIRE(to.add("a", {3}, std::vector<float>{1, 2, 3}));
        REQUIRE(to.finish());
    }
    const std::string before = read_file(directory / "m-00001.zt");
    const reader in_the_way = reader::open(directory / "m-00001.zt").value();
    const reader other = reader::open(directory / "other.zt").value();
    faulty_os os;
    const reader unknown = open_by(directory / "other.zt", os);
    {
        const auto options = quick(format_version::v2).publish(publish_mode::in_place).shard_bytes(1);
        writer to = writer::create(directory / "m.zt", options).value();
        REQUIRE(to.add("0", {1}, std::vector<float>{1}));
        REQUIRE(ztensor::copy(in_the_way, to, ztensor::copy_options().rename([](std::string_view) { return "00"; })));
        os.failing_name = "status of handle"; // what can't be told is not refused
        REQUIRE(ztensor::copy(unknown, to, ztensor::copy_options().rename([](std::string_view) { return "1"; })));
        os.failing_name = {};
        REQUIRE(ztensor::copy(other, to));
        CHECK(read_file(directory / "m-00001.zt") == before); // so far
        REQUIRE(to.finish());
        CHECK(refusal(ztensor::copy(other, to)) == errc::writer_closed);
    }
    const reader whole = reader::open(directory / "m.zt").value();
    CHECK(whole.verify().value().verified == 4);
    CHECK(read_file(directory / "m-00001.zt") == before);
}

TEST_CASE("what is copied over itself in place is refused, and what is copied over another file is not") {
    using namespace shared_and_held;
    const temp_dir directory;
    gone_on_with::write_old(directory / "f");
    gone_on_with::write_old(directory / "g");
    faulty_os os;
    const reader from = open_by(directory / "f", os);
    const std::string before = read_file(directory / "f");
    const write_options in_place = quick().publish(publish_mode::in_place);
    {
        writer over_itself = writer::create(directory / "f", in_place).value();
        CHECK(refusal(ztensor::copy(from, over_itself)) == errc::invalid_argument);
        CHECK(refusal(ztensor::copy(from[0], over_itself)) == errc::invalid_argument);
        const writer moved = std::move(over_itself);
        CHECK(refusal(ztensor::copy(from[0], over_itself)) == errc::writer_closed);
        CHECK(refusal(ztensor::copy(from, over_itself)) == errc::writer_closed);
    }
    CHECK(read_file(directory / "f") == before);
    for (const char* const name : {"g", "new"}) {
        writer to = writer::create(directory / name, in_place).value();
        os.failing_name = std::string(name) == "g" ? "status of handle" : "";
        REQUIRE(ztensor::copy(from, to));
        os.failing_name = {};
        REQUIRE(to.finish());
        CHECK((gone_on_with::content_of(directory / name) == gone_on_with::content_of(directory / "f")));
    }
}

TEST_CASE("a target that becomes a folder while it is written is left alone") {
    using namespace shared_and_held;
    const temp_dir directory;
    auto sink = detail::create_sink(directory / "f", quick()).value();
    REQUIRE(sink->write(support::bytes_of("new")));
    std::filesystem::create_directory(directory / "f");
    CHECK(refusal(sink->finish()) == errc::not_regular_file);
    CHECK(directory.names() == std::vector<std::string>{"f"});
}

TEST_CASE("a file that has no name is given one that is free, but is not offered names for ever") {
    using namespace shared_and_held;
    const temp_dir directory;
    faulty_os os;
    auto sink = detail::create_sink(directory / "f", quick(), os).value();
    REQUIRE(sink->write(support::bytes_of("new")));
    const bool is_unnamed = os.count("create_in") == 0;
    const std::size_t linked = os.count("link_in");
    os.failing_name = "link_in";
    os.failure = std::make_error_code(std::errc::file_exists);
    CHECK(sink->finish().has_value() == !is_unnamed);
    CHECK(os.count("link_in") - linked == (is_unnamed ? 16 : 0));
}

TEST_CASE("what was begun in place and can't be emptied is told of by its name") {
    using namespace shared_and_held;
    const temp_dir directory;
    support::write_file(directory / "f", "old");
    faulty_os os;
    auto sink = detail::create_sink(directory / "f", quick().publish(publish_mode::in_place), os).value();
    const std::vector<std::byte> large(3 * one_mebibyte);
    REQUIRE(sink->write(large));
    os.first_failing_call = os.calls.size();
    os.failing_calls = faulty_os::never;
    const auto done = sink->write(large);
    REQUIRE(!done);
    CHECK(done.error().code() == errc::io_error);
    CHECK(done.error().what().find("f is left behind") != std::string::npos);
}

TEST_CASE("shards take what they have room for, and what is larger gets one of its own") {
    using namespace shared_and_held;
    const temp_dir directory;
    const auto shards_of = [&](std::uint64_t most_bytes, const std::vector<std::size_t>& sizes) {
        const auto options = quick(format_version::v2).alignment_bytes(4096).shard_bytes(most_bytes);
        writer to = writer::create(directory / "m.zt", options).value();
        char name = 'a';
        for (const std::size_t size : sizes) {
            const std::vector<std::uint8_t> content(size, static_cast<std::uint8_t>(name));
            REQUIRE(to.add(std::string(1, name++), {size}, content));
        }
        REQUIRE(to.finish());
        const reader file = reader::open(directory / "m.zt").value();
        CHECK(file.verify().value().verified == sizes.size());
        const std::size_t count = directory.names().size() - 1;
        for (const std::string& each : directory.names()) {
            std::filesystem::remove(directory / each);
        }
        return count;
    };
    CHECK(shards_of(8232, {}) == 0);
    CHECK(shards_of(8232, {10, 0}) == 1); // two blocks and a footer
    CHECK(shards_of(8231, {10, 0}) == 2);
    CHECK(shards_of(8233, {10, 1}) == 1);
    CHECK(shards_of(8232, {10, 1}) == 2);
    CHECK(shards_of(8232, {1000, 10000, 1}) == 3);
    CHECK(shards_of(1, {0, 1, 2}) == 3);
}

TEST_CASE("a stored component that is added alone is a blob of its own") {
    using namespace shared_and_held;
    const reader from = support::reopened(quick(), [](writer& to) {
        REQUIRE(to.add("a", {3}, std::vector<float>{1, 2, 3}, ztensor::store().zstd()));
    });
    const auto part = from.find("a").value().data().value();
    const reader after = support::reopened(quick(), [&](writer& to) {
        for (const char* const name : {"b", "c"}) {
            REQUIRE(to.add_object(name, ztensor::object_draft("dense", {3}).component_stored("data", part)));
        }
    });
    CHECK(after.find("b").value().data().value().offset() != after.find("c").value().data().value().offset());
    CHECK(after.find("c").value().read<float>().value() == std::vector<float>{1, 2, 3});
}
