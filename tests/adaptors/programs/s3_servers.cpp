// SPDX-License-Identifier: MIT
//
// Opens, loads, saves, replaces and refuses to replace objects at the server that the environment names; s3_proxy.py
// starts it.
//
// usage: s3_servers NAME, which is that of the server: moto accepts any signature
#include <ztensor/s3.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

namespace {

int failures = 0;

void check(bool is_right, const std::string& what, const std::string& why = "") {
    if (!is_right) {
        std::cout << "wrong: " << what << (why.empty() ? "" : ": ") << why << '\n';
        ++failures;
    }
}
template <class T>
void check(const ztensor::result<T>& outcome, const std::string& what) {
    check(outcome.has_value(), what, outcome ? "" : std::string(outcome.error().what()));
}

std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
    std::vector<float> made(count);
    for (float& each : made) {
        seed = seed * 1664525u + 1013904223u;
        each = static_cast<float>(seed >> 8);
    }
    return made;
}

ztensor::result<void> save(const std::string& uri, const std::vector<float>& elements,
                           const ztensor::s3_write_options& what = {}, const ztensor::s3_options& where = {}) {
    ZTENSOR_TRY_ASSIGN(auto sink, ztensor::s3_sink::open(uri, where, what));
    ZTENSOR_TRY_ASSIGN(ztensor::writer out, ztensor::writer::to_sink(std::move(sink)));
    ZTENSOR_TRY(out.add("w", {elements.size()}, elements));
    return out.finish();
}

void check_content(const std::string& uri, const std::vector<float>& expected, const std::string& what) {
    const auto model = ztensor::open_remote(uri);
    check(model, what + ", opened");
    if (model) {
        const auto read = model->read<float>("w");
        check(read, what + ", read");
        check(read && *read == expected, what + " holds what was written");
    }
}

} // namespace

int main(int count, char** arguments) {
    const std::string server = count > 1 ? arguments[1] : "";
    const std::vector<float> small = numbers(1000, 1), other = numbers(2000, 2), large = numbers(6'000'000, 3);
    const auto create = ztensor::s3_write_options().create_only();
    for (const std::string key : {"small.zt", "deep/er/a b+c%41?d#e&f=g~h.zt", "\xc3\xa4-\xe6\xa8\xa1.zt"}) {
        const std::string uri = "s3://bucket-1/" + key;
        check(save(uri, small), key);
        check_content(uri, small, key);
        check(save(uri, other), key + ", replaced");
        check_content(uri, other, key + ", replaced");
    }
    check(save("s3://bucket-1/large.zt", large), "24 MB in parts");
    check_content("s3://bucket-1/large.zt", large, "24 MB in parts");
    check(save("s3://bucket-1/small.zt", large), "parts in place of a small object");
    check_content("s3://bucket-1/small.zt", large, "parts in place of a small object");

    check(save("s3://bucket-1/new.zt", small, create), "a new object");
    const auto again = save("s3://bucket-1/new.zt", other, create);
    check(!again && again.error().os_error() == std::errc::file_exists, "an object that is there is not replaced",
          again ? "it was" : std::string(again.error().what()));
    check_content("s3://bucket-1/new.zt", small, "an object that was not replaced");
    const auto parts_again = save("s3://bucket-1/new.zt", large, create);
    check(!parts_again && parts_again.error().os_error() == std::errc::file_exists,
          "an object that is there is not replaced by parts",
          parts_again ? "it was" : std::string(parts_again.error().what()));
    check(save("s3://bucket-1/new-parts.zt", large, create), "a new object in parts");

    {
        auto dropped = ztensor::s3_sink::open("s3://bucket-1/dropped.zt");
        const std::vector<std::byte> bytes(std::size_t{20} << 20);
        check(dropped, "a sink");
        check(dropped.value()->write(bytes), "a sink that is dropped");
    }
    const auto dropped = ztensor::open_remote("s3://bucket-1/dropped.zt");
    check(!dropped && dropped.error().code() == ztensor::errc::file_not_found, "what was dropped is not there");
    const auto nowhere = save("s3://no-such-bucket/a.zt", small);
    check(!nowhere && nowhere.error().code() == ztensor::errc::file_not_found, "a bucket that is not there",
          nowhere ? "" : std::string(nowhere.error().what()));

    if (server == "s3proxy") {
        const auto wrong = ztensor::s3_options().credentials("AKIAIOSFODNN7EXAMPLE", "wrong");
        const auto refused = ztensor::open_remote("s3://bucket-1/small.zt", wrong);
        check(!refused && refused.error().os_error() == std::errc::permission_denied, "another secret is refused");
        check(!save("s3://bucket-1/b.zt", small, {}, wrong), "another secret may not write");
    }
    std::cout << server << ": " << failures << " wrong\n";
    return failures == 0 ? 0 : 1;
}
