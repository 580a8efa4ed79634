// SPDX-License-Identifier: MIT
//
// Tensors as mdspan, and words by std::format where there is one. A program of its own without Catch, which is not
// built for the standard library that has <mdspan>.
#include <ztensor/formatter.hpp>
#include <ztensor/mdspan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

using ztensor::errc;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;

namespace library = ztensor::detail::mdspan_library;

namespace {

int failures = 0;

void check(bool holds, const char* what) {
    if (!holds) {
        std::printf("FAILED: %s\n", what);
        ++failures;
    }
}

template <class T>
void check_refused(const result<T>& answer, errc code, const char* what) {
    check(!answer && answer.error().code() == code, what);
}

const std::vector<float> six = {1, 2, 3, 4, 5, 6};

void check_views() {
    auto out = ztensor::writer::to_memory().value();
    out.add("matrix", {2, 3}, six).value();
    out.add("scalar", {}, std::vector<float>{7}).value();
    out.add("packed", {2, 3}, six, ztensor::store().zstd()).value();
    out.finish().value();
    const reader model = reader::from_bytes(out.take_bytes()).value();
    const object_view matrix = model.find("matrix").value();

    const auto view = ztensor::view_mdspan<float, 2>(matrix).value();
    check(view.extent(0) == 2 && view.extent(1) == 3, "extents are the shape");
    check(view.data_handle() == model.view<float>("matrix").value().data(), "nothing is copied");
    check(view[std::array<std::size_t, 2>{1, 2}] == 6, "indices are those of the file");
    const auto scalar = ztensor::view_mdspan<float, 0>(model.find("scalar").value()).value();
    check(scalar[std::array<std::size_t, 0>{}] == 7, "a scalar has no index");

    const auto refused = ztensor::view_mdspan<float, 3>(matrix);
    check_refused(refused, errc::invalid_argument, "another number of dimensions");
    check(refused.error().object() == "matrix", "the error names the object");
    check_refused(ztensor::view_mdspan<double, 2>(matrix), errc::type_mismatch, "another type");
    const object_view packed = model.find("packed").value();
    check_refused(ztensor::view_mdspan<float, 2>(packed), errc::not_viewable, "compressed");

    const auto read = packed.read<float>().value();
    const ztensor::tensor_mdspan<const float, 2> owned(read.data(), ztensor::extents_of<2>(packed.shape()).value());
    check(owned[std::array<std::size_t, 2>{0, 1}] == 2, "elements that were read");
}

void check_writing() {
    using extents = library::extents<int, 2, library::dynamic_extent>;
    const library::mdspan<const float, extents> by_rows(six.data(), 3);
    const library::mdspan<const float, extents, library::layout_left> by_columns(six.data(), 3);
    const library::layout_stride::mapping<extents> backwards(extents(3), std::array<int, 2>{1, 2});
    const library::mdspan<const float, extents, library::layout_stride> strided(six.data(), backwards);
    const bool truths[] = {true, false};
    const library::mdspan<const bool, library::extents<std::size_t, 2>, library::layout_left> bools(truths);
    const library::mdspan<const float, library::extents<int>> scalar(six.data());

    auto out = ztensor::writer::to_memory().value();
    add_mdspan(out, "by_rows", by_rows).value();
    add_mdspan(out, "by_columns", by_columns, ztensor::store().zstd()).value();
    add_mdspan(out, "strided", strided).value();
    add_mdspan(out, "bools", bools).value();
    add_mdspan(out, "scalar", scalar).value();
    check_refused(add_mdspan(out, "scalar", scalar), errc::duplicate_key, "what the writer refuses");
    out.finish().value();
    const reader model = reader::from_bytes(out.take_bytes()).value();

    check(model.read<float>("by_rows").value() == six, "rows as they lie");
    check(model.read<float>("by_columns").value() == std::vector<float>{1, 3, 5, 2, 4, 6}, "columns gathered");
    check(model.read<float>("strided").value() == std::vector<float>{1, 3, 5, 2, 4, 6}, "strides gathered");
    check(model.find("strided").value().shape() == ztensor::shape{2, 3}, "extents become the shape");
    check(model.read<bool>("bools").value() == std::vector<bool>{true, false}, "bools");
    check(model.read<float>("scalar").value() == std::vector<float>{1}, "a scalar");
}

void check_formats() {
#if defined(__cpp_lib_format)
    const ztensor::error why(errc::out_of_bounds, "too far");
    check(std::format("{:>5}|{:<5}|{}", ztensor::dtype::f32, ztensor::shape{2, 3}, why) == "  f32|[2, 3]|" + why.what(),
          "width and alignment as of text");
    check(std::format("{} {} {}", errc::not_viewable, ztensor::error_kind::usage, ztensor::format::dense) ==
              "not_viewable usage dense",
          "codes, kinds and formats");
    check(std::format("{} {}", ztensor::encoding::zstd, ztensor::version::v1_2) == "zstd 1.2",
          "encodings, generations");
    check(std::format("{} {}", ztensor::digest_state::match, ztensor::attribute_kind::text) == "match text",
          "states of digests and kinds of attributes");
#endif
}

} // namespace

int main() {
    check_views();
    check_writing();
    check_formats();
    std::printf("%d checks failed\n", failures);
    return failures == 0 ? 0 : 1;
}
