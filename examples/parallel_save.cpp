// SPDX-License-Identifier: MIT
//
// mpirun -np 8 parallel_save OUT [TENSOR_PARALLEL]: all ranks save one checkpoint. The ranks are stages of a pipeline,
// each of so many ranks (2 unless given) that share the layers of their stage: the first matrix of a layer is cut by
// rows, the second by columns, and its norm is the same on all of them.
#include "parallel_model.hpp"

#include <ztensor/mpi.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace mpi = ztensor::mpi;

namespace {

void define_all(mpi::writer& out) { // by every rank, in the same order
    for (int layer = 0; layer < layers; ++layer) {
        for (const tensor& each : tensors_of_layer) {
            out.define<float>(name_of(layer, each), each.shape(), ztensor::store().digest(ztensor::digest::crc32c))
                .value();
        }
    }
}

void put_mine(mpi::writer& out, const place& here) {
    for (int layer = here.first_layer; layer < here.last_layer; ++layer) {
        for (const tensor& each : tensors_of_layer) {
            const mpi::part part = part_of(each, here);
            if (is_whole(each) && here.tensor_rank != 0) {
                continue; // the same on all ranks of the stage: the first one puts it
            }
            out.put(name_of(layer, each), part, numbers_of(layer, each, part)).value();
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const place here = place_of_rank(MPI_COMM_WORLD, argc > 2 ? argv[2] : "2");
    const std::string path = argc > 1 ? argv[1] : "checkpoint.zt";

    mpi::writer out = mpi::writer::create(MPI_COMM_WORLD, path).value();
    out.attributes(ztensor::attributes().set("step", 1000)).value();
    define_all(out);
    out.plan().value();   // every tensor has its place
    put_mine(out, here);  // and each rank writes there
    out.finish().value(); // now the file is there, whole
    if (here.rank == 0) {
        std::printf("saved %s by %d ranks, %d for each stage\n", path.c_str(), here.ranks, here.tensor_ranks);
    }
    MPI_Finalize();
}
