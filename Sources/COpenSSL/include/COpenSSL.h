#pragma once
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/// Bytes that OpenSSL has taken on this thread and not given back.
long sluice_openssl_bytes(void);

// Macros that Swift does not see.

static inline void sluice_choose_by_server_name(
    SSL_CTX *context, int (*choose)(SSL *session, int *alert, void *argument), void *argument
) {
    SSL_CTX_set_tlsext_servername_callback(context, choose);
    SSL_CTX_set_tlsext_servername_arg(context, argument);
}

/// How RFC 2253 writes a name, in ASCII: "CN=authority,O=Sluice".
static inline unsigned long sluice_name_style(void) {
    return XN_FLAG_RFC2253;
}

/// What a server of HTTP wants: the server's order of ciphers, though ChaCha for clients without AES in
/// hardware; an end without close_notify is like one with it, since HTTP tells where messages end.
static inline uint64_t sluice_server_options(void) {
    return SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
           SSL_OP_PRIORITIZE_CHACHA | SSL_OP_IGNORE_UNEXPECTED_EOF;
}
