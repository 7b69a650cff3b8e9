import COpenSSL

/// Digests and message authentication, from OpenSSL. The only part of this room that the sandbox
/// shares with the sender.
package enum Digest {}
