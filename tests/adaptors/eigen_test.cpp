// SPDX-License-Identifier: MIT
//
// Tensors as matrices of Eigen's, of either order.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/writing.hpp"

#include <ztensor/eigen.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

using support::refusal;
using ztensor::errc;
using ztensor::object_view;
using ztensor::reader;

namespace {

using rows_first = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

reader small_model() {
    return support::reopened({}, [](ztensor::writer& out) {
        const std::vector<float> six = {1, 2, 3, 4, 5, 6};
        out.add("matrix", {2, 3}, six).value();
        out.add("packed", {2, 3}, six, ztensor::store().zstd()).value();
        out.add("vector", {6}, six).value();
        out.add("scalar", {}, std::vector<float>{7}).value();
        out.add("cube", {1, 2, 3}, six).value();
        out.add("empty", {0, 3}, std::vector<float>()).value();
        out.add("half", {2}, std::vector<ztensor::float16>{ztensor::float16(0.5F), ztensor::float16(2.0F)}).value();
        out.add("bf16", {1, 2}, std::vector<ztensor::bfloat16>{ztensor::bfloat16(0.5F), ztensor::bfloat16(2.0F)})
            .value();
        out.add("bool", {2}, std::vector<bool>{true, false}).value();
        out.add("complex", {1}, std::vector<std::complex<double>>{{1, 2}}).value();
    });
}

object_view find(const reader& model, const char* name) {
    return model.find(name).value();
}

/// True where there are views of wider elements; elsewhere they must be refused.
bool has_views() {
    const reader model = small_model();
    if (support::host_is_little_endian()) {
        return true;
    }
    CHECK(refusal(ztensor::view_eigen<Eigen::MatrixXf>(find(model, "matrix"))) == errc::needs_byteswap);
    return false;
}

/// The matrix of the file, whatever it was put into.
template <class Matrix>
void check_six(const Matrix& matrix) {
    REQUIRE((matrix.rows() == 2 && matrix.cols() == 3));
    for (Eigen::Index row = 0; row < 2; ++row) {
        for (Eigen::Index column = 0; column < 3; ++column) {
            CHECK(matrix(row, column) == static_cast<float>(row * 3 + column + 1));
        }
    }
}

} // namespace

TEST_CASE("a view of either order has each coefficient where the file has it, and copies none") {
    if (!has_views()) {
        return;
    }
    const reader model = small_model();
    const float* const first = model.view<float>("matrix").value().data();

    const auto by_rows = ztensor::view_eigen<rows_first>(find(model, "matrix")).value();
    const auto by_columns = ztensor::view_eigen<Eigen::MatrixXf>(find(model, "matrix")).value();
    const auto fixed = ztensor::view_eigen<Eigen::Matrix<float, 2, 3>>(find(model, "matrix")).value();
    const auto array = ztensor::view_eigen<Eigen::ArrayXXf>(find(model, "matrix")).value();
    check_six(by_rows);
    check_six(by_columns);
    check_six(fixed);
    check_six(array);
    CHECK(by_rows.data() == first);
    CHECK(by_columns.data() == first);

    const Eigen::VectorXf product = by_columns * Eigen::Vector3f(1, 0, -1);
    CHECK(product == Eigen::Vector2f(-2, -2));
}

TEST_CASE("a tensor of one dimension is a vector, and a scalar a matrix of one") {
    if (!has_views()) {
        return;
    }
    const reader model = small_model();
    CHECK(ztensor::view_eigen<Eigen::VectorXf>(find(model, "vector")).value().size() == 6);
    CHECK(ztensor::view_eigen<Eigen::RowVectorXf>(find(model, "vector")).value().cols() == 6);
    CHECK(ztensor::view_eigen<Eigen::MatrixXf>(find(model, "vector")).value().rows() == 6);
    CHECK(ztensor::view_eigen<Eigen::MatrixXf>(find(model, "scalar")).value()(0, 0) == 7);
    CHECK(ztensor::view_eigen<rows_first>(find(model, "empty")).value().cols() == 3);
    CHECK(ztensor::view_eigen<Eigen::Matrix<Eigen::half, 2, 1>>(find(model, "half")).value()[1] == Eigen::half(2.0F));
    CHECK(ztensor::view_eigen<Eigen::VectorXcd>(find(model, "complex")).value()[0].imag() == 2);
}

TEST_CASE("what can't be viewed can be read, and converted") {
    const reader model = small_model();
    CHECK(refusal(ztensor::view_eigen<Eigen::MatrixXf>(find(model, "packed"))) == errc::not_viewable);
    check_six(ztensor::read_eigen<Eigen::MatrixXf>(find(model, "packed")).value());
    check_six(ztensor::read_eigen<rows_first>(find(model, "packed")).value());
    check_six(ztensor::read_eigen<Eigen::Matrix<float, 2, 3>>(find(model, "matrix")).value());
    CHECK(ztensor::read_eigen<Eigen::Matrix<bool, 2, 1>>(find(model, "bool")).value()[0]);
    CHECK(ztensor::read_as_eigen<Eigen::RowVectorXf>(find(model, "bf16")).value()[1] == 2);
    CHECK(ztensor::read_as_eigen<Eigen::MatrixXd>(find(model, "matrix")).value()(1, 2) == 6);
    CHECK(refusal(ztensor::read_eigen<Eigen::MatrixXd>(find(model, "matrix"))) == errc::type_mismatch);
}

TEST_CASE("a shape that the type can't have is refused by name") {
    const reader model = small_model();
    const auto refused = ztensor::view_eigen<Eigen::Matrix<float, 3, 2>>(find(model, "matrix"));
    CHECK(refusal(refused) == errc::invalid_argument);
    CHECK(refused.error().object() == "matrix");
    CHECK(refusal(ztensor::view_eigen<Eigen::VectorXf>(find(model, "matrix"))) == errc::invalid_argument);
    CHECK(refusal(ztensor::view_eigen<Eigen::MatrixXf>(find(model, "cube"))) == errc::invalid_argument);
    using at_most_four = Eigen::Matrix<float, Eigen::Dynamic, 1, 0, 4, 1>;
    CHECK(refusal(ztensor::read_eigen<at_most_four>(find(model, "vector"))) == errc::invalid_argument);
    CHECK(refusal(ztensor::read_as_eigen<Eigen::Vector2f>(find(model, "vector"))) == errc::invalid_argument);
}

TEST_CASE("matrices, blocks and expressions are written row after row") {
    Eigen::MatrixXf matrix(2, 3);
    matrix << 1, 2, 3, 4, 5, 6;
    const rows_first by_rows = matrix;
    const reader model = support::reopened({}, [&](ztensor::writer& out) {
        add_eigen(out, "by_columns", matrix).value();
        add_eigen(out, "by_rows", by_rows).value();
        add_eigen(out, "array", matrix.array()).value();
        add_eigen(out, "expression", 2 * matrix, ztensor::store().zstd()).value();
        add_eigen(out, "transposed", matrix.transpose()).value();
        add_eigen(out, "columns", by_rows.rightCols(2)).value();
        add_eigen(out, "row", by_rows.row(1)).value();
        add_eigen(out, "column", by_rows.col(1)).value();
        add_eigen(out, "vector", Eigen::Vector3d(1, 2, 3)).value();
        add_eigen(out, "empty", Eigen::MatrixXf(0, 3)).value();
        add_eigen(out, "bf16", matrix.cast<Eigen::bfloat16>()).value();
    });
    const std::vector<float> six = {1, 2, 3, 4, 5, 6};
    for (const char* const name : {"by_columns", "by_rows", "array"}) {
        INFO(name);
        CHECK(find(model, name).shape() == ztensor::shape{2, 3});
        CHECK(model.read<float>(name).value() == six);
    }
    CHECK(model.read<float>("expression").value() == std::vector<float>{2, 4, 6, 8, 10, 12});
    CHECK(find(model, "transposed").shape() == ztensor::shape{3, 2});
    CHECK(model.read<float>("transposed").value() == std::vector<float>{1, 4, 2, 5, 3, 6});
    CHECK(model.read<float>("columns").value() == std::vector<float>{2, 3, 5, 6});
    CHECK(model.read<float>("row").value() == std::vector<float>{4, 5, 6});
    CHECK(find(model, "row").shape() == ztensor::shape{3});
    CHECK(model.read<float>("column").value() == std::vector<float>{2, 5});
    CHECK(find(model, "vector").shape() == ztensor::shape{3});
    CHECK(model.read<double>("vector").value() == std::vector<double>{1, 2, 3});
    CHECK(find(model, "empty").shape() == ztensor::shape{0, 3});
    CHECK(model.read_as<float>("bf16").value() == six);
}
