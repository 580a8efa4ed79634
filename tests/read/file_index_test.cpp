// SPDX-License-Identifier: MIT
//
// What opening reads, as a value: a file is opened with it elsewhere without being read, and refused where it is
// another file. Handed over to a child process, all of it needs one descriptor and the index.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/model_names.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

namespace {

using support::temp_dir;
using ztensor::errc;
using ztensor::file_index;
using ztensor::format_version;
using ztensor::reader;
using ztensor::result;
using ztensor::write_options;
using ztensor::writer;

std::vector<float> rising(std::size_t count) {
    std::vector<float> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    return numbers;
}

void write_model(writer out) {
    out.add("a", {100}, rising(100)).value();
    out.add("b", {10, 20}, rising(200), ztensor::store().zstd()).value();
    out.finish().value();
}

void write_model(const std::filesystem::path& path, format_version version = format_version::v1_2) {
    write_model(writer::create(path, write_options().sync(false).version(version)).value());
}

/// Counts how often it is read.
class counted_source final : public ztensor::byte_source {
public:
    explicit counted_source(std::vector<std::byte> content) : content_(std::move(content)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const override {
        reads_ += 1;
        std::copy_n(content_.data() + offset, destination.size(), destination.begin());
        return {};
    }
    [[nodiscard]] int reads() const noexcept { return reads_; }

private:
    std::vector<std::byte> content_;
    mutable int reads_ = 0;
};

std::vector<std::byte> bytes_of_file(const std::filesystem::path& path) {
    return support::to_vector(support::read_file(path));
}

} // namespace

TEST_CASE("a .zt file of every version is opened by its index without being read") {
    const temp_dir directory;
    for (const format_version version :
         {format_version::v0_1, format_version::v1_1, format_version::v1_2, format_version::v2}) {
        CAPTURE(static_cast<int>(version));
        write_model(directory / "m.zt", version);
        const file_index index = reader::open(directory / "m.zt").value().index().value();
        CHECK(index.file_bytes() == std::filesystem::file_size(directory / "m.zt"));
        CHECK(index.modified_nanoseconds() != 0);
        const file_index sent = file_index::from_bytes({index.bytes().begin(), index.bytes().end()}).value();
        CHECK(sent.digest() == index.digest());

        const auto source = std::make_shared<counted_source>(bytes_of_file(directory / "m.zt"));
        const reader file = reader::from_index(source, sent).value();
        CHECK(source->reads() == 0);
        CHECK(file.read<float>("a").value() == rising(100));
        CHECK(file.read<float>("b").value() == rising(200));
        CHECK(source->reads() > 0);

        const reader by_path = reader::from_index(directory / "m.zt", sent).value();
        CHECK(by_path.read<float>("b").value() == rising(200));
        CHECK(by_path.is_mapped());
        CHECK(by_path.index().value().digest() == index.digest());
    }
}

TEST_CASE("a file of one byte more, or one that was written since, is another one") {
    const temp_dir directory;
    write_model(directory / "m.zt");
    const file_index index = reader::open(directory / "m.zt").value().index().value();
    std::filesystem::last_write_time(directory / "m.zt",
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    CHECK(reader::from_index(directory / "m.zt", index).error().code() == errc::file_changed);
    CHECK(
        ztensor::open_any(std::make_shared<counted_source>(std::vector<std::byte>(10)), "m.zt", index).error().code() ==
        errc::file_changed);
    CHECK(reader::from_index(std::make_shared<counted_source>(std::vector<std::byte>(10)), index).error().code() ==
          errc::file_changed);
    CHECK(reader::from_index(std::shared_ptr<const ztensor::byte_source>(), index).error().code() ==
          errc::invalid_argument);
}

TEST_CASE("what the index says is checked as what the file says") {
    const temp_dir directory;
    write_model(directory / "m.zt", format_version::v1_2);
    std::vector<std::byte> content = bytes_of_file(directory / "m.zt");
    const auto sound = std::make_shared<counted_source>(content);
    content[content.size() - 30] ^= std::byte{0xff};
    const result<reader> damaged = reader::from_bytes(std::vector<std::byte>(content));
    REQUIRE(!damaged);
    const auto source = std::make_shared<counted_source>(content);
    CHECK(ztensor::read_index(source, "m.zt").error().code() == damaged.error().code());
    // Limits are those of the process that opens.
    const file_index index = reader::from_source(sound).value().index().value();
    CHECK(reader::from_index(sound, index, ztensor::read_options().max_objects(1)).error().code() ==
          errc::limit_exceeded);
}

TEST_CASE("bytes that are no index are refused") {
    const temp_dir directory;
    write_model(directory / "m.zt");
    const file_index index = reader::open(directory / "m.zt").value().index().value();
    const std::vector<std::byte> sound(index.bytes().begin(), index.bytes().end());
    for (std::size_t i = 0; i < sound.size(); i += i < 80 ? 1 : 37) {
        std::vector<std::byte> damaged = sound;
        damaged[i] ^= std::byte{1};
        const result<file_index> made = file_index::from_bytes(damaged);
        CAPTURE(i);
        if (i >= 8 && i < 24) { // which file it is about
            CHECK(reader::from_index(directory / "m.zt", made.value()).error().code() == errc::file_changed);
        } else {
            CHECK(made.error().code() == errc::invalid_argument);
        }
        CHECK(!file_index::from_bytes({sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(i)}));
    }
}

TEST_CASE("ranges that are not in order, or not of the file, are refused though the sum over them is right") {
    const temp_dir directory;
    write_model(directory / "m.zt");
    const file_index index = reader::open(directory / "m.zt").value().index().value();
    const std::vector<std::byte> sound(index.bytes().begin(), index.bytes().end());
    constexpr std::size_t sum_at = 24, count_at = 32, first_at = 40; // each number takes 8 bytes
    const struct {
        std::size_t place;
        std::uint64_t number;
    } cases[] = {
        {count_at, 1},
        {count_at, ~std::uint64_t{0}},
        {first_at, index.file_bytes() + 1},
        {first_at + 8, ~std::uint64_t{0}},
        {first_at + 16, 0}, // where the second range begins
    };
    for (const auto& each : cases) {
        std::vector<std::byte> forged = sound;
        ztensor::detail::store_little(each.number, &forged[each.place], 8);
        const std::string sum =
            ztensor::digest_text(ztensor::digest::crc32c, ztensor::span<const std::byte>(forged).subspan(count_at));
        ztensor::detail::store_little(std::stoul(sum.substr(sum.rfind('x') + 1), nullptr, 16), &forged[sum_at], 8);
        CAPTURE(each.place, each.number);
        const result<file_index> made = file_index::from_bytes(forged);
        REQUIRE_FALSE(made);
        CHECK(made.error().code() == errc::invalid_argument);
    }
}

TEST_CASE("an index that was made in memory says nothing of when the file was written") {
    const temp_dir directory;
    write_model(directory / "m.zt");
    const file_index index = reader::from_bytes(bytes_of_file(directory / "m.zt")).value().index().value();
    CHECK(index.modified_nanoseconds() == 0);
    CHECK(reader::from_index(directory / "m.zt", index).value().read<float>("a").value() == rising(100));
}

TEST_CASE("files of other formats are opened by their headers") {
    const temp_dir directory;
    write_model(directory / "m.zt");
    const reader model = reader::open(directory / "m.zt").value();
    ztensor::export_safetensors(model, directory / "m.safetensors").value();
    ztensor::export_npz(model, directory / "m.npz").value();
    ztensor::export_npy(model["a"], directory / "a.npy").value();
    for (const char* const name : {"m.safetensors", "m.npz", "a.npy", "m.zt"}) {
        CAPTURE(name);
        const file_index index = ztensor::read_index(directory / name).value();
        const auto source = std::make_shared<counted_source>(bytes_of_file(directory / name));
        const reader file = ztensor::open_any(source, name, index).value();
        CHECK(source->reads() == 0);
        CHECK(file.read<float>("a").value() == rising(100));
    }
    const result<file_index> refused = ztensor::open_any(directory / "m.npz").value().index();
    CHECK(refused.error().code() == errc::invalid_argument);
    CHECK(ztensor::open_any({directory / "a.npy"}).value().index().error().code() == errc::invalid_argument);
    CHECK(ztensor::read_index(nullptr, "m.zt").error().code() == errc::invalid_argument);
    CHECK(ztensor::open_any(nullptr, "m.zt", ztensor::read_index(directory / "m.zt").value()).error().code() ==
          errc::invalid_argument);
    CHECK(ztensor::read_index(directory / "none").error().code() == errc::file_not_found);
}

TEST_CASE("a root with shards is opened by its index, and its shards are found beside it") {
    const temp_dir directory;
    write_model(
        writer::create(directory / "m.zt", write_options().sync(false).version(format_version::v2).shard_bytes(1000))
            .value());
    const file_index index = reader::open(directory / "m.zt").value().index().value();
    const reader file = reader::from_index(directory / "m.zt", index).value();
    CHECK(file.read<float>("b").value() == rising(200));
    std::filesystem::remove(support::path_without_token(directory, "m-00001.zt"));
    CHECK(reader::from_index(directory / "m.zt", index).error().code() == errc::shard_missing);
}

TEST_CASE("many files have an index each, and readers of them are joined") {
    const temp_dir directory;
    write_model(directory / "m.zt");
    writer other = writer::create(directory / "n.zt", write_options().sync(false)).value();
    other.add("c", {3}, rising(3)).value();
    other.finish().value();
    const reader all = ztensor::open_any({directory / "m.zt", directory / "n.zt"}).value();
    CHECK(all.index().error().code() == errc::invalid_argument);
    std::vector<reader> again;
    for (const reader& each : all.files()) {
        again.push_back(reader::from_index(each.path(), each.index().value()).value());
    }
    CHECK(reader::join(std::move(again)).value().read<float>("c").value() == rising(3));
    CHECK(reader().index().error().code() == errc::invalid_argument);
}

#if !defined(_WIN32)

namespace {

/// A descriptor and some bytes over a socket, as a server hands them to its workers.
void send(int socket, int descriptor, ztensor::bytes_view bytes) {
    std::uint64_t size = bytes.size();
    ::iovec content = {&size, sizeof size};
    alignas(::cmsghdr) char room[CMSG_SPACE(sizeof descriptor)] = {};
    ::msghdr message = {};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    ::cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::copy_n(reinterpret_cast<const unsigned char*>(&descriptor), sizeof descriptor, CMSG_DATA(head));
    REQUIRE(::sendmsg(socket, &message, 0) == sizeof size);
    REQUIRE(::write(socket, bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()));
}

std::pair<int, std::vector<std::byte>> receive(int socket) {
    std::uint64_t size = 0;
    ::iovec content = {&size, sizeof size};
    alignas(::cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    ::msghdr message = {};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    if (::recvmsg(socket, &message, 0) != sizeof size) {
        return {-1, {}};
    }
    int descriptor = -1;
    std::copy_n(CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor, reinterpret_cast<unsigned char*>(&descriptor));
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    for (std::size_t done = 0; done < bytes.size();) {
        const ::ssize_t got = ::read(socket, bytes.data() + done, bytes.size() - done);
        if (got <= 0) {
            return {-1, {}};
        }
        done += static_cast<std::size_t>(got);
    }
    return {descriptor, std::move(bytes)};
}

/// All of a descriptor's file in memory, shared by every process that maps it.
class mapped_descriptor final : public ztensor::byte_source {
public:
    mapped_descriptor(int descriptor, std::size_t size)
        : size_(size), memory_(::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0)) {}
    ~mapped_descriptor() override { ::munmap(memory_, size_); }

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const override {
        reads += 1;
        std::copy_n(mapped().data() + offset, destination.size(), destination.begin());
        return {};
    }
    [[nodiscard]] ztensor::bytes_view mapped() const noexcept override {
        return {static_cast<const std::byte*>(memory_), size_};
    }

    mutable int reads = 0;

private:
    std::size_t size_;
    void* memory_;
};

int work_as_child(int socket) {
    auto [descriptor, bytes] = receive(socket);
    const result<file_index> index = file_index::from_bytes(std::move(bytes));
    if (descriptor < 0 || !index) {
        return 1;
    }
    const auto source = std::make_shared<mapped_descriptor>(descriptor, static_cast<std::size_t>(index->file_bytes()));
    ::close(descriptor);
    const result<reader> file = reader::from_index(source, *index);
    if (!file || source->reads != 0) {
        return 2;
    }
    const result<ztensor::span<const float>> view = file->view<float>("a");
    return view && view->size() == 100 && (*view)[99] == 100.0f && source->reads == 0 ? 0 : 3;
}

} // namespace

TEST_CASE("an opened model is handed to another process by descriptor and index") {
    const temp_dir directory;
    write_model(directory / "m.zt");
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const reader file = reader::open(directory / "m.zt").value();
    const int descriptor = ::open((directory / "m.zt").c_str(), O_RDONLY);
    std::filesystem::remove(directory / "m.zt"); // no name leads to it any more
    const file_index index = file.index().value();
    send(ends[0], descriptor, index.bytes());
    CHECK(support::exit_code_of([&] { return work_as_child(ends[1]); }) == 0);
    for (const int each : {ends[0], ends[1], descriptor}) {
        ::close(each);
    }
}

#endif
