/* Whether masked loads of AVX read past what the mask names: at the end of a page behind which there is none. A processor
 * does not; qemu 7.2 loads all 32 bytes and faults (masked stores it does one by one). */
#include <immintrin.h>
#include <stdio.h>
#include <sys/mman.h>

int main(void)
{
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE))
        return 1;
    float *three = (float *)(void *)(page + 4096) - 3, got[8];
    three[0] = 1, three[1] = 2, three[2] = 3;
    const __m256i mask = _mm256_setr_epi32(-1, -1, -1, 0, 0, 0, 0, 0);
    _mm256_storeu_ps(got, _mm256_maskload_ps(three, mask));
    return got[2] != 3 || got[3] != 0;
}
