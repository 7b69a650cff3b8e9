/// The reason why a stored credential cannot be opened or sealed.
package enum SecretBoxProblem: Error, Sendable, Equatable, CustomStringConvertible {
    case keyTooShort
    case keyTooSimple
    case passphraseNotOffered
    case otherVersion
    case otherKey
    case changed

    package var description: String {
        switch self {
        case .keyTooShort:
            "the encryption key is too short; give 64 hexadecimal digits, base64 of 32 bytes, or a "
                + "passphrase of at least 32 characters (openssl rand -hex 32 makes one)"
        case .keyTooSimple:
            "the encryption key has too few different characters; openssl rand -hex 32 makes one"
        case .passphraseNotOffered:
            "OpenSSL cannot derive a key from a passphrase here (FIPS mode?); give 64 hexadecimal digits, openssl rand "
                + "-hex 32 makes them"
        case .otherVersion:
            "this version does not know the stored credential's format; push the credential again"
        case .otherKey:
            "the stored credential was sealed with another encryption key; bring that key back, or push "
                + "the credential again"
        case .changed:
            "the stored credential was changed or belongs to another name; push the credential again"
        }
    }
}
