// SPDX-License-Identifier: MIT
//
// Makes every public call where a program does little as a rule: before main(), in functions given to atexit(), and in
// destructors of statics and of thread_local objects, of the main thread and of another, that were made before and
// after the library was first used there. Each call gives a value. ZTENSOR_TEST_FOLDER names a folder for files.
#include "faults/programs/public_calls.hpp"

#include <ztensor/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace {

/// Never destroyed, since it is needed to the very end.
public_calls::environment& files() {
    static auto* const made = new public_calls::environment(public_calls::in_folder(
        std::getenv("ZTENSOR_TEST_FOLDER") != nullptr ? std::getenv("ZTENSOR_TEST_FOLDER") : "."));
    return *made;
}

void fail(const char* place, const char* what, const std::string& why) {
    std::printf("%s, %s: %s\n", place, what, why.c_str());
    std::fflush(stdout);
    std::_Exit(1);
}

void call_all(const char* place) {
    for (const public_calls::named_call& call : public_calls::all) {
        if (const ztensor::result<void> done = call.run(files()); !done) {
            fail(place, call.name, done.error().what());
        }
    }
    // What stands for nothing, and words for errors, are statics of the library's own.
    const ztensor::reader none;
    const ztensor::reader no_files;
    const std::error_code code = make_error_code(none.find("x").error());
    if (none.is_open() || none.size() != 0 || no_files.size() != 0 || code.message() != "object_not_found" ||
        !none.path().empty() || none.verify().value().verified != 0) {
        fail(place, "a reader of no file", code.message());
    }
    std::printf("%s: fine\n", place);
    std::fflush(stdout);
}

/// Calls the library when it is destroyed.
class caller {
public:
    explicit caller(const char* place) noexcept : place_(place) {}
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;
    ~caller() { call_all(place_); }

private:
    const char* place_;
};

/// A reader and a writer that go with the program.
struct late_objects {
    ztensor::reader file;
    ztensor::result<ztensor::writer> out = ztensor::writer::to_memory();

    ~late_objects() {
        const auto loaded = file.load<float>("packed");
        if (!loaded || !file.verify(2) || !out->add("x", {2}, {1.0F, 2.0F}, ztensor::store().zstd()) ||
            !out->finish()) {
            fail("with the program", "a reader and a writer", loaded ? "writing failed" : loaded.error().what());
        }
    }
};

const caller destroyed_last("a static's destructor");

struct before_main {
    before_main() {
        if (const ztensor::result<void> written = public_calls::write_files(files()); !written) {
            fail("before main", "write", written.error().what());
        }
        call_all("before main");
    }
};

const before_main first;

late_objects& gone_with_the_program() {
    static late_objects objects;
    return objects;
}

#if !defined(_WIN32)
/// Behind the destructors of all thread_local objects.
void at_the_end_of_this_thread() {
    ::pthread_key_t key;
    if (::pthread_key_create(&key, [](void*) { call_all("a thread's key"); }) == 0) {
        ::pthread_setspecific(key, &key);
    }
}
#else
void at_the_end_of_this_thread() {
}
#endif

void work_in_a_thread() {
    at_the_end_of_this_thread();
    static thread_local const caller made_before("a thread's destructor behind the library's");
    static_cast<void>(made_before);
    call_all("a thread");
    static thread_local const caller made_behind("a thread's destructor before the library's");
    static_cast<void>(made_behind);
}

} // namespace

int main(int argc, char**) {
    if (argc != 1) {
        return 2;
    }
    if (std::atexit([] { call_all("atexit"); }) != 0) {
        return 2;
    }
    gone_with_the_program().file = ztensor::reader::open(files().v1).value();
    std::thread other(work_in_a_thread);
    other.join();
    std::thread unused([] { // whose first call is made when it ends
        static thread_local const caller made_alone("the destructor of a thread that had not called");
        static_cast<void>(made_alone);
    });
    unused.join();
    static thread_local const caller of_main("the main thread's destructor");
    static_cast<void>(of_main);
    return 0;
}
