// SPDX-License-Identifier: MIT
//
// mpirun -np 4 parallel_load IN [TENSOR_PARALLEL]: all ranks load what parallel_save saved, by however many ranks and
// cut in whatever way that was: each byte that is wanted is read once, and sent to the rank that wants it.
#include "parallel_model.hpp"

#include <ztensor/mpi.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace mpi = ztensor::mpi;

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const place here = place_of_rank(MPI_COMM_WORLD, argc > 2 ? argv[2] : "1");
    const std::string path = argc > 1 ? argv[1] : "checkpoint.zt";

    const ztensor::reader model = mpi::open(MPI_COMM_WORLD, path).value(); // rank 0 reads the index for all
    std::vector<std::vector<float>> mine;
    ztensor::load_plan plan(model);
    for (int layer = here.first_layer; layer < here.last_layer; ++layer) {
        for (const tensor& each : tensors_of_layer) {
            const mpi::part part = part_of(each, here);
            mine.emplace_back(part.shape().element_count().value());
            plan.add(model[name_of(layer, each)].slice(part), mine.back());
        }
    }
    const mpi::load_report report = mpi::load(MPI_COMM_WORLD, plan, mpi::how::collective).value();

    std::size_t next = 0;
    for (int layer = here.first_layer; layer < here.last_layer; ++layer) {
        for (const tensor& each : tensors_of_layer) {
            if (mine[next++] != numbers_of(layer, each, part_of(each, here))) {
                std::printf("rank %d has other numbers in %s\n", here.rank, name_of(layer, each).c_str());
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }
    if (here.rank == 0) {
        std::printf("loaded %s by %d ranks, %d for each stage: %llu bytes read by all, %llu of them here\n",
                    path.c_str(), here.ranks, here.tensor_ranks,
                    static_cast<unsigned long long>(report.bytes_read_in_all),
                    static_cast<unsigned long long>(report.bytes_read));
    }
    MPI_Finalize();
}
