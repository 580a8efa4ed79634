// SPDX-License-Identifier: MIT
//
// Elements of a type that only the file knows.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>
#include <ztensor/visit.hpp>
#include <ztensor/writer.hpp>

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

using support::refusal;
using ztensor::component_view;
using ztensor::errc;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;
using ztensor::span;

namespace {

/// Two elements of each type, 1 and 0, under the name of the type.
reader one_of_each_type() {
    return support::reopened({}, [](ztensor::writer& out) {
        const auto add = [&](const char* name, auto element, const char* type = "") {
            const decltype(element) elements[] = {element, {}};
            const auto how = ztensor::store().type(type);
            out.add(name, {2}, span<const decltype(element)>(elements), how).value();
        };
        add("f64", 1.0);
        add("f32", 1.0F);
        add("f16", ztensor::float16(1.0F));
        add("bf16", ztensor::bfloat16(1.0F));
        add("i64", std::int64_t{1});
        add("i32", std::int32_t{1});
        add("i16", std::int16_t{1});
        add("i8", std::int8_t{1});
        add("u64", std::uint64_t{1});
        add("u32", std::uint32_t{1});
        add("u16", std::uint16_t{1});
        add("u8", std::uint8_t{1});
        add("bool", true);
        add("f8_e4m3fn", ztensor::float8_e4m3fn(1.0F));
        add("f8_e5m2", ztensor::float8_e5m2(1.0F));
        add("f8_e4m3fnuz", ztensor::float8_e4m3fnuz(1.0F));
        add("f8_e5m2fnuz", ztensor::float8_e5m2fnuz(1.0F));
        add("complex64", std::complex<float>(1));
        add("complex128", std::complex<double>(1));
        add("unheard_of", std::uint8_t{1}, "q8.8_fixed");
    });
}

template <class T>
std::string name_of() {
    using traits = ztensor::element_traits<T>;
    return std::string(traits::type.empty() ? name(traits::storage) : traits::type);
}

} // namespace

TEST_CASE("a visitor is called with the type that the file names") {
    const reader model = one_of_each_type();
    std::size_t visited = 0;
    for (const object_view object : model) {
        if (object.name() == "unheard_of") {
            continue;
        }
        INFO(object.name());
        CHECK(visit_type(object, [](auto of) { return name_of<typename decltype(of)::type>(); }).value() ==
              object.name());
        const auto name = visit(object, [](auto elements) {
            using element = typename decltype(elements)::value_type;
            CHECK(elements.size() == 2);
            if constexpr (!ztensor::detail::is_complex_of_v<element, float> &&
                          !ztensor::detail::is_complex_of_v<element, double>) {
                CHECK(static_cast<float>(elements[0]) == 1.0F);
                CHECK(static_cast<float>(elements[1]) == 0.0F);
            } else {
                CHECK(elements[0].real() == 1);
            }
            return name_of<element>();
        });
        if (support::host_is_little_endian() || width_bytes(*object.data().value().dtype().known()) == 1) {
            CHECK(name.value() == object.name());
        } else {
            CHECK(refusal(name) == errc::needs_byteswap);
        }
        ++visited;
    }
    CHECK(visited == 19);
}

TEST_CASE("a visitor returns what its function returns, as a result") {
    const reader model = one_of_each_type();
    const object_view object = model.find("bool").value();
    const component_view component = object.data().value();

    const auto size = [](auto elements) { return elements.size(); };
    static_assert(std::is_same_v<decltype(visit(object, size)), result<std::size_t>>);
    CHECK(visit(component, size).value() == 2);

    std::size_t bytes = 0;
    const auto count = [&](auto elements) { bytes += elements.size_bytes(); };
    static_assert(std::is_same_v<decltype(visit(object, count)), result<void>>);
    visit(object, count).value();
    CHECK(bytes == 2);

    const auto refuse = [](auto) -> result<int> { return ztensor::error(errc::cancelled, "the function said no"); };
    static_assert(std::is_same_v<decltype(visit(object, refuse)), result<int>>);
    CHECK(refusal(visit(object, refuse)) == errc::cancelled);

    const auto read = visit_type(object, [&](auto of) -> result<std::size_t> {
        return object.read<typename decltype(of)::type>().transform([](const auto& all) { return all.size(); });
    });
    CHECK(read.value() == 2);
}

TEST_CASE("a visitor is not called where there is no type, or no view") {
    const auto never = [](auto) { FAIL("called"); };

    const reader model = one_of_each_type();
    const object_view unknown = model.find("unheard_of").value();
    const auto refused = visit(unknown, never);
    CHECK(refusal(refused) == errc::unsupported_type);
    CHECK(refused.error().object() == "unheard_of");
    CHECK(refused.error().component() == "data");
    CHECK_THAT(refused.error().what(), support::contains_text("q8.8_fixed"));

    const auto file = support::sample().dtype("u128").file();
    const reader strange = reader::from_bytes(support::to_vector(file)).value();
    CHECK(refusal(visit_type(strange.find("w").value(), never)) == errc::unknown_dtype);

    const reader packed = support::reopened({}, [](ztensor::writer& out) {
        out.add("packed", {3}, std::vector<float>{1, 2, 3}, ztensor::store().zstd()).value();
        out.add_coo("sparse", {3}, std::vector<float>{1}, std::vector<std::uint64_t>{2}).value();
    });
    CHECK(refusal(visit(packed.find("packed").value(), never)) == errc::not_viewable);
    CHECK(refusal(visit(packed.find("sparse").value(), never)) == errc::unsupported_format);
    CHECK(refusal(visit_type(packed.find("sparse").value(), never)) == errc::unsupported_format);
}

TEST_CASE("any stored bool but 0 is true, and only 0 and 1 are written") {
    const auto file = support::sample().dtype("bool").shape({3}).blob({"\0\1\7", 3}).file();
    const reader model = reader::from_bytes(support::to_vector(file)).value();
    const auto mask = model.view<ztensor::stored_bool>("w").value();
    CHECK(!mask[0]);
    CHECK(mask[1]);
    CHECK(mask[2]);
    CHECK(refusal(model.read<bool>("w")) == errc::bad_bool);

    const reader copy = support::reopened({}, [&](ztensor::writer& out) {
        CHECK(refusal(out.add("mask", {3}, mask)) == errc::bad_bool);
        out.add("mask", {2}, mask.first(2)).value();
    });
    CHECK(copy.read<bool>("mask").value() == std::vector<bool>{false, true});
}

TEST_CASE("bools of version 2 are visited like those before") {
    const auto options = ztensor::write_options().version(ztensor::format_version::v2);
    const reader model = support::reopened(options, [](ztensor::writer& out) {
        out.add("mask", {2}, std::vector<bool>{false, true}).value();
    });
    const auto sum = visit(model.find("mask").value(), [](auto elements) {
        int count = 0;
        for (const auto& element : elements) {
            if constexpr (std::is_convertible_v<decltype(element), bool>) {
                count += static_cast<bool>(element) ? 1 : 0;
            }
        }
        return count;
    });
    CHECK(sum.value() == 1);
}
