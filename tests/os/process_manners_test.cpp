// SPDX-License-Identifier: MIT
//
// How the library behaves in a process that is not its own: whose signals its threads take, which numbers its handles
// have, and how it waits for others that use a file.
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/io.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if !defined(_WIN32)

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace {

using support::temp_dir;
using ztensor::errc;
using ztensor::io_mode;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::write_options;
using ztensor::writer;

const std::vector<float> some_floats = {1, 2, 3};

void write_model(const std::filesystem::path& path) {
    writer out = writer::create(path, write_options().sync(false)).value();
    out.add("a", {3}, some_floats).value();
    out.finish().value();
}

// -- signals

// What a thread causes itself; abort() unblocks its own signal.
constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/// Those of the thread that asks.
struct blocked_signals {
    ::sigset_t signals;
    std::atomic<bool> is_known{false};

    static void ask(void* into) {
        auto& mine = *static_cast<blocked_signals*>(into);
        ::pthread_sigmask(SIG_SETMASK, nullptr, &mine.signals);
        mine.is_known = true;
    }
};

/// A signal that somebody sends to the process while it has one of the library's threads comes to a thread that blocks
/// nothing, or waits until somebody asks: 0 if it does.
int waits_for_its_reader() {
    if (!ztensor::detail::start_thread([](void*) { ::pause(); }, nullptr)) {
        return 2;
    }
    ::sigset_t asked_for;
    sigemptyset(&asked_for);
    sigaddset(&asked_for, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &asked_for, nullptr);
    ::kill(::getpid(), SIGTERM); // which would end the process
    int found = 0;
    return ::sigwait(&asked_for, &found) == 0 && found == SIGTERM ? 0 : 1;
}

// -- handles

bool is_free(int handle) {
    return ::fcntl(handle, F_GETFD) == -1;
}

/// Whether the standard streams are still closed, and nothing that is open would be inherited, but what was open
/// before.
bool is_well_mannered(const std::vector<bool>& before) {
    for (int handle = 0; handle < static_cast<int>(before.size()); ++handle) {
        const int flags = ::fcntl(handle, F_GETFD);
        const bool is_new = flags != -1 && !before[static_cast<std::size_t>(handle)];
        if (is_new && (handle < 3 || (flags & FD_CLOEXEC) == 0)) {
            return false;
        }
    }
    return true;
}

bool works_without_standard_streams(const std::filesystem::path& folder) {
    for (int stream = 0; stream < 3; ++stream) {
        ::close(stream);
    }
    std::vector<bool> before;
    for (int handle = 0; handle < 64; ++handle) {
        before.push_back(!is_free(handle));
    }
    const std::filesystem::path path = folder / "model.zt";
    std::vector<reader> readers;
    for (const io_mode mode : {io_mode::automatic, io_mode::mapped, io_mode::positional}) {
        readers.push_back(reader::open(path, read_options().mode(mode)).value());
        if (!is_well_mannered(before)) {
            return false;
        }
    }
    const auto in_place = write_options().sync(false).publish(ztensor::publish_mode::in_place);
    writer added = writer::append(path, in_place).value();
    writer made = writer::create(folder / "new.zt", write_options().sync(false)).value();
    if (!made.add("a", {3}, some_floats) || !added.add("b", {3}, some_floats) || !is_well_mannered(before) ||
        !added.finish() || !made.finish() || ztensor::remove_abandoned(folder).value() != 0) {
        return false;
    }
    ztensor::editor edited = ztensor::edit(path, in_place).value();
    return edited.replace("a", {3}, some_floats) && is_well_mannered(before) && edited.finish() &&
           is_well_mannered(before) && readers.back().read<float>("a").value() == some_floats;
}

#if defined(F_SETLEASE)

/// Holds a write lease on the file, as Samba does for its clients; says so through `ready`, and ends it a while after
/// somebody wants the file. 0 if somebody did.
int hold_lease(const std::filesystem::path& path, int ready) {
    ::sigset_t asked_for;
    sigemptyset(&asked_for);
    sigaddset(&asked_for, SIGIO);
    ::pthread_sigmask(SIG_BLOCK, &asked_for, nullptr);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    const char has_lease = file >= 0 && ::fcntl(file, F_SETLEASE, F_WRLCK) == 0 ? 1 : 0;
    if (::write(ready, &has_lease, 1) != 1 || has_lease == 0) {
        return 1;
    }
    const ::timespec most = {20, 0};
    if (::sigtimedwait(&asked_for, nullptr, &most) != SIGIO) {
        return 2;
    }
    const ::timespec nap = {0, 100'000'000};
    ::nanosleep(&nap, nullptr);
    return ::fcntl(file, F_SETLEASE, F_UNLCK) == 0 ? 0 : 3;
}

/// Opens the file while another process has a lease on it.
template <class Open>
void check_waits_for_lease(const std::filesystem::path& path, const Open& open) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const ::pid_t holder = ::fork();
    REQUIRE(holder >= 0);
    if (holder == 0) {
        ::_exit(hold_lease(path, ready[1]));
    }
    ::close(ready[1]);
    char has_lease = 0;
    const bool has_said = ::read(ready[0], &has_lease, 1) == 1;
    ::close(ready[0]);
    if (has_said && has_lease == 1) {
        CHECK(open());
    } else {
        WARN("skipped: there are no leases here");
    }
    int status = 0;
    REQUIRE(::waitpid(holder, &status, 0) == holder);
    CHECK((has_lease == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
}

#endif

// -- forks

/// A child that goes on with what its parent was at, in a call of the library's.
struct forked_child {
    ::pid_t id = -1;
    int said[2] = {-1, -1}; ///< a pipe for what the child says on stderr

    /// True in the child, which is ended if it waits for ever.
    bool fork_off() {
        REQUIRE(::pipe(said) == 0);
        id = ::fork();
        if (id != 0) {
            ::close(said[1]);
            return false;
        }
        ::signal(SIGABRT, SIG_DFL); // not Catch2's
        ::dup2(said[1], STDERR_FILENO);
        ::alarm(20);
        return true;
    }

    void check_has_ended_with_a_sentence() const {
        int status = 0;
        REQUIRE(::waitpid(id, &status, 0) == id);
        check_sentence(status);
    }

    /// Where no thread of the parent's was at work the child may as well have done all by itself.
    void check_has_ended_with_a_sentence_or_success() const {
        int status = 0;
        REQUIRE(::waitpid(id, &status, 0) == id);
        if (WIFEXITED(status)) {
            CHECK(WEXITSTATUS(status) == 0);
            ::close(said[0]);
        } else {
            check_sentence(status);
        }
    }

private:
    void check_sentence(int status) const {
        CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
        char text[1024] = {};
        CHECK(::read(said[0], text, sizeof(text) - 1) > 0);
        CHECK(std::string(text).find("forked off inside a call") != std::string::npos);
        ::close(said[0]);
    }
};

/// Forks at its second write.
class forking_sink final : public ztensor::byte_sink {
public:
    explicit forking_sink(forked_child& child) noexcept : child_(child) {}

    result<void> write(ztensor::bytes_view bytes) override {
        const bool was_large = std::exchange(has_large_, has_large_ || bytes.size() > 4096);
        if (was_large && child_.id < 0) {
            static_cast<void>(child_.fork_off());
        }
        return {};
    }
    result<void> finish() override { return {}; }

private:
    forked_child& child_;
    bool has_large_ = false;
};

} // namespace

TEST_CASE("a child that is forked off inside a call of several threads ends with a sentence if it goes on with it") {
    if (!support::forks_beside_threads()) {
        return;
    }
    std::atomic<bool> has_come{false};
    std::atomic<bool> may_go{false};
    forked_child child;
    const ::pthread_t caller = ::pthread_self();
    ztensor::detail::run_in_parallel(2, 2, [&] {
        const bool is_caller = ::pthread_equal(::pthread_self(), caller) != 0;
        std::atomic<bool>& awaited = is_caller ? has_come : may_go;
        has_come = has_come || !is_caller;
        while (!awaited) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        if (is_caller && !child.fork_off()) {
            may_go = true;
        }
    });
    if (child.id == 0) {
        ::_exit(0);
    }
    child.check_has_ended_with_a_sentence();
}

TEST_CASE("a child that a sink forks off while threads compress goes on alone or ends with a sentence") {
    if (!support::forks_beside_threads()) {
        return;
    }
    std::vector<std::uint32_t> noise(std::size_t{8} << 20); // 32 frames
    std::uint32_t next = 1;
    for (std::uint32_t& each : noise) {
        each = next = next * 1664525 + 1013904223;
    }
    forked_child child;
    writer out = writer::to_sink(std::make_unique<forking_sink>(child), write_options().threads(3)).value();
    const result<void> added = out.add("a", {noise.size()}, noise, ztensor::store().zstd(1));
    if (child.id == 0) {
        ::_exit(added ? 0 : 1);
    }
    CHECK(added);
    REQUIRE(child.id > 0);
    child.check_has_ended_with_a_sentence_or_success(); // which, hangs on how far the threads were
}

TEST_CASE("a child that is forked off while its parent has threads reads and writes by itself") {
    if (!support::forks_beside_threads()) {
        return;
    }
    const temp_dir directory;
    std::vector<float> many(std::size_t{1} << 20, 1.5f);
    writer out = writer::create(directory / "model.zt", write_options().sync(false)).value();
    out.add("a", {many.size()}, many, ztensor::store().zstd(1)).value();
    out.finish().value();
    const reader model = reader::open(directory / "model.zt").value();
    CHECK(model.read<float>("a").value() == many);
    CHECK(support::exit_code_of([&] {
              ::alarm(20);
              writer mine = writer::create(directory / "own.zt", write_options().sync(false).threads(4)).value();
              mine.add("a", {many.size()}, many, ztensor::store().zstd(1)).value();
              mine.finish().value();
              const reader own = reader::open(directory / "own.zt", read_options().threads(4)).value();
              return own.read<float>("a").value() == many && model.read<float>("a").value() == many ? 0 : 1;
          }) == 0);
}

TEST_CASE("threads of the library take no signals of the process") {
    if (!support::forks_beside_threads()) {
        return;
    }
    CHECK(support::exit_code_of(waits_for_its_reader) == 0);
}

TEST_CASE("threads of the library block all signals but those of faults, and their maker's stay as they were") {
    static blocked_signals of_thread;
    static blocked_signals of_pool;
    ::sigset_t before;
    ::sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    REQUIRE(ztensor::detail::start_thread(&blocked_signals::ask, &of_thread));
    REQUIRE(ztensor::detail::current_executor().submit(&blocked_signals::ask, &of_pool));
    while (!of_thread.is_known || !of_pool.is_known) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int signal = 1; signal < 32; ++signal) {
        CAPTURE(signal);
        const bool is_fault = std::find(std::begin(faults), std::end(faults), signal) != std::end(faults);
        if (signal != SIGKILL && signal != SIGSTOP) {
            CHECK((sigismember(&of_thread.signals, signal) == 1) == !is_fault);
            CHECK((sigismember(&of_pool.signals, signal) == 1) == !is_fault);
        }
        CHECK(sigismember(&before, signal) == sigismember(&after, signal));
    }
}

TEST_CASE("no handle of the library's is a standard stream or inherited") {
    const temp_dir directory;
    write_model(directory / "model.zt");
    CHECK(support::exit_code_of([&] { return works_without_standard_streams(directory.path()) ? 0 : 1; }) == 0);
}

TEST_CASE("a FIFO is refused at once, whoever writes to it or not") {
    const temp_dir directory;
    const std::filesystem::path path = directory / "fifo";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const auto opened = reader::open(path);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code() == errc::not_regular_file);
}

#if defined(F_SETLEASE)
TEST_CASE("a file that another process has under a lease is opened once that is over") {
    const temp_dir directory;
    const std::filesystem::path path = directory / "model.zt";
    write_model(path);
    for (const io_mode mode : {io_mode::automatic, io_mode::positional}) {
        check_waits_for_lease(path, [&] { return reader::open(path, read_options().mode(mode)).has_value(); });
    }
    check_waits_for_lease(path, [&] {
        result<writer> out = writer::append(path, write_options().sync(false));
        return out && out->add("b", {3}, some_floats) && out->finish();
    });
}
#endif

#endif
