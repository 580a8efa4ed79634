// SPDX-License-Identifier: MIT
//
// A plan of all tensors of a file behind a URL. Started by url_plan.py, which has the server and the rival.
// usage: url_plan write PATH TENSORS BYTES, or url_plan load URL REQUESTS: prints the seconds of opening and of the
// plan
#include <ztensor/http.hpp>
#include <ztensor/ztensor.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

template <class T>
T must(ztensor::result<T> done) {
    if (!done) {
        std::fputs((done.error().what() + "\n").c_str(), stderr);
        std::exit(1);
    }
    return *std::move(done);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void write(const std::string& path, std::size_t count, std::size_t bytes) {
    ztensor::writer to = must(ztensor::writer::create(path));
    for (std::size_t i = 0; i < count; ++i) {
        const std::vector<float> values(bytes / sizeof(float), static_cast<float>(i));
        must(to.add("tensor " + std::to_string(i), {values.size()}, values));
    }
    must(to.finish());
}

void load(const std::string& url, unsigned requests) {
    const auto start = std::chrono::steady_clock::now();
    const ztensor::reader file = must(ztensor::open_url(url, ztensor::http_options().requests_in_flight(requests)));
    const double opening = seconds_since(start);
    std::vector<std::vector<float>> loaded;
    for (const ztensor::object_view object : file) {
        loaded.emplace_back(static_cast<std::size_t>(object.element_count()), -1.0f);
    }
    ztensor::load_plan plan(file);
    for (std::size_t i = 0; i < file.size(); ++i) {
        plan.add(file[i].name(), loaded[i]);
    }
    const auto planned = std::chrono::steady_clock::now();
    must(plan.run());
    std::printf("%.4f %.4f\n", opening, seconds_since(planned));
}

} // namespace

int main(int count, char** arguments) {
    const std::string verb = count > 1 ? arguments[1] : "";
    if (verb == "write" && count == 5) {
        write(arguments[2], std::strtoul(arguments[3], nullptr, 10), std::strtoul(arguments[4], nullptr, 10));
    } else if (verb == "load" && count == 4) {
        load(arguments[2], static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10)));
    } else {
        std::fprintf(stderr, "usage: url_plan write PATH TENSORS BYTES | load URL REQUESTS\n");
        return 2;
    }
}
