/* The table of erf in mathfn.c, printed by tools/fit-math.py. */
#ifndef HN_BASE_MATHFN_TABLES_H
#define HN_BASE_MATHFN_TABLES_H

/* erf(center + h), |h| <= 1/4, centers 1, 1.5, ... 6; lowest power first. Absolute error below
 * 6e-17. */
enum { ERF_TERMS = 14, ERF_CENTERS = 11 };
/* clang-format off */
static const double erf_around[ERF_CENTERS][ERF_TERMS] = {
    { /* 1.0 */
      0x1.af767a741088bp-1, 0x1.a911f096fbc25p-2, -0x1.a911f096fbdc3p-2, 0x1.1b614b0f52a9dp-3,
      0x1.1b614b0fab811p-4, -0x1.1b614b0f8018bp-4, 0x1.2e45a3743d9d4p-8, 0x1.f096fdd141268p-7,
      -0x1.3910f1786371cp-8, -0x1.ee31476ce6552p-10, 0x1.41584ca8df2abp-10, 0x1.673ec57d41fbcp-14,
      -0x1.98a3cc94a4c27p-13, 0x1.242cf72383c02p-16,
    },
    { /* 1.5 */
      0x1.eea5557137aep-1, 0x1.e723726b824a9p-4, -0x1.6d5a95d0a1ca5p-3, 0x1.1c2a02beb6a9p-3,
      -0x1.6d5a95d0a91f7p-5, -0x1.e723726b67eb5p-7, 0x1.3ca3d74be9785p-6, -0x1.36d73a71771f8p-8,
      -0x1.35ae90320ef7fp-9, 0x1.c03815c829234p-10, -0x1.84cd392ecc265p-14, -0x1.0ad2216ee6a99p-12,
      0x1.3a0081466b5p-14, 0x1.2f66b57d89d0ep-16,
    },
    { /* 2.0 */
      0x1.fd9ae142795e3p-1, 0x1.529b9e8cf9a1fp-6, -0x1.529b9e8cf95a4p-5, 0x1.8b0ae3a47882p-5,
      -0x1.1a2c5975924d3p-5, 0x1.ace7404c58a0cp-7, 0x1.e1935f364f1b8p-12, -0x1.bae0abd4dd4f4p-9,
      0x1.a114467208f18p-10, -0x1.a46a332ec190cp-15, -0x1.139df14e3a6f1p-12, 0x1.b322fe7e551eep-14,
      0x1.8f2e0d55afc15p-18, -0x1.0cbb917f9b2c9p-16,
    },
    { /* 2.5 */
      0x1.ffcaa8f4c9beap-1, 0x1.1d83170fbf6f6p-9, -0x1.64e3dcd3a968fp-8, 0x1.119da0c46cfc1p-7,
      -0x1.1a89b97e60a23p-7, 0x1.90e81283b9c04p-8, -0x1.6ecdbe2aebe23p-9, 0x1.1c610c649bc9fp-11,
      0x1.11541acb087ep-12, -0x1.0671a73aa1d14p-12, 0x1.4ab6343be140fp-14, 0x1.59af4bc6c6216p-18,
      -0x1.df487d01fed7bp-17, 0x1.30bb6e2bb9416p-18,
    },
    { /* 3.0 */
      0x1.fffd1ac4135f9p-1, 0x1.2408e9ba33293p-13, -0x1.b60d5e96df7a9p-12, 0x1.9db74b1d1d0f9p-11,
      -0x1.11c85b2c66d11p-10, 0x1.0a7b5546f55cp-10, -0x1.82f22fa3eff38p-11, 0x1.998b4779bf804p-12,
      -0x1.1aa87c3453d43p-13, 0x1.d2a4b38a57ca1p-17, 0x1.071a458ba91cap-16, -0x1.6a4b3943f7314p-17,
      0x1.638c68a9a2415p-19, 0x1.5b51393923433p-23,
    },
    { /* 3.5 */
      0x1.ffffe710d565ep-1, 0x1.6a597219a93c6p-18, -0x1.3d0e43d034b33p-16, 0x1.62ccea63cb66dp-15,
      -0x1.1c0772e21f87cp-14, 0x1.586bafc99af9ep-14, -0x1.4615153219fdp-14, 0x1.e827fb0cea20ep-15,
      -0x1.1f6bd06c19778p-15, 0x1.01352053cd015p-16, -0x1.33fcd2463b7f8p-18, 0x1.dd9d4ee54356ep-22,
      0x1.afc8d5fee5fe4p-23, -0x1.45371e38f89f1p-22,
    },
    { /* 4.0 */
      0x1.ffffff7b91176p-1, 0x1.10b1488aeaf8p-23, -0x1.10b1485081bc6p-21, 0x1.603a5308d1aedp-20,
      -0x1.4980e99e67b3bp-19, 0x1.da5f10d810e73p-19, -0x1.104f8b8aaf9efp-18, 0x1.fd7c66b1de68fp-19,
      -0x1.88f143928278dp-19, 0x1.f424029a27123p-20, -0x1.00509e22283fdp-20, 0x1.ae755eed383eep-22,
      -0x1.a39e474fb45b8p-23, 0x1.15f77c8e14c82p-26,
    },
    { /* 4.5 */
      0x1.fffffffe4fa3p-1, 0x1.f1e3523b43a5fp-30, -0x1.180fd186decd1p-27, 0x1.99b86655d5699p-26,
      -0x1.b59a62b2199cap-25, 0x1.6b1baf50ce24ap-24, -0x1.e6253791a60a7p-24, 0x1.0d678dd361247p-23,
      -0x1.fa80799a77dcp-24, 0x1.8d2ee87de63e6p-24, -0x1.a3c1542f5b5d2p-25, 0x1.34d899e270e63p-25,
      -0x1.6bace7e9a48afp-24, 0x1.ebda8c21d7576p-28,
    },
    { /* 5.0 */
      0x1.fffffffffc9e8p-1, 0x1.13af4f050f27ap-36, -0x1.58a6b634200adp-34, 0x1.196da0a74515bp-32,
      -0x1.50b40688ba057p-31, 0x1.3c51d1324d91fp-30, -0x1.f60d81f8748bep-30, 0x1.32c714dafda49p-29,
      -0x1.0cf007e5e1073p-31, 0x1.3509115de054p-29, -0x1.c68a5f1c17bf7p-26, 0x1.60f8e9d93a5ffp-30,
      0x1.02b7fb865c803p-23, 0x1.ef2d459f52e77p-32,
    },
    { /* 5.5 */
      0x1.fffffffffffbep-1, 0x1.7258610c1a70ep-44, -0x1.0645f0f92b2ep-41, 0x1.cb12e2d563297p-40,
      -0x1.6cdc7a7df5d52p-39, 0x1.3e4a22474369fp-37, -0x1.e81c4fd468b6ap-34, 0x1.84a478b928ee2p-36,
      0x1.5a7d60e11d241p-29, 0x1.fa8a810a05e63p-36, -0x1.1865fea660c3cp-25, 0x1.844af33685e17p-36,
      0x1.58c9051854177p-23, 0x1.90b1f6dcc32f3p-37,
    },
    { /* 6.0 */
      0x1p+0, 0x1.2dc1190d1639ap-52, -0x1.93ed474219e1cp-47, 0x1.be5849d226b6bp-48,
      0x1.5643c1aca2e17p-40, 0x1.75a827c3a1415p-45, -0x1.2a120d89add8ap-34, 0x1.17712a73c1c8bp-43,
      0x1.f02a2dc2a9edbp-30, 0x1.c667edf4c8902p-43, -0x1.8cf9021fc75b5p-26, 0x1.bb9b246c4e2f4p-43,
      0x1.e893974943a2dp-24, 0x1.376a7eeecdd8p-43,
    },
};
/* clang-format on */

#endif
