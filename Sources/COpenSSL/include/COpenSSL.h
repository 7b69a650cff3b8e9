#pragma once
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/// Bytes that OpenSSL has allocated and not freed on this thread.
long sluice_openssl_bytes(void);

// Swift does not import these macros.

static inline void sluice_choose_by_server_name(
    SSL_CTX *context, int (*choose)(SSL *session, int *alert, void *argument), void *argument
) {
    SSL_CTX_set_tlsext_servername_callback(context, choose);
    SSL_CTX_set_tlsext_servername_arg(context, argument);
}

/// The flags that print a name as RFC 2253 does, in ASCII: "CN=authority,O=Sluice".
static inline unsigned long sluice_name_style(void) {
    return XN_FLAG_RFC2253;
}

/// Options of an HTTPS server. The server's cipher order counts, except that clients without AES in hardware get
/// ChaCha20. A missing close_notify is no error, because HTTP itself marks the end of each message.
static inline uint64_t sluice_server_options(void) {
    return SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
           SSL_OP_PRIORITIZE_CHACHA | SSL_OP_IGNORE_UNEXPECTED_EOF;
}
