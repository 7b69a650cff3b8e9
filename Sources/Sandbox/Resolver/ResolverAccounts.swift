package import Crypto
package import Net
import System

/// The accounts that the look-alikes of resolvers know, and the address that they give for every
/// host.
package struct ResolverAccounts: Sendable {
    /// The id of the account of Alibaba's HTTPDNS.
    package var alibaba = "100000"
    /// 32 hexadecimal digits each: they sign and hide queries.
    package var secret: Secret
    package var aesKey: Secret
    /// The id of the account of Tencent's HTTPDNS.
    package var tencent = "1"
    /// 16 characters; DES uses the first eight.
    package var tencentKey: Secret
    package var token: Secret
    /// Hosts that `/names` does not mention have this address.
    package var address = IPAddress(v4: 0x7f00_0001)

    /// Makes keys that open nothing else.
    package init() {
        secret = Secret(hex(randomBytes(16)))
        aesKey = Secret(hex(randomBytes(16)))
        tencentKey = Secret(hex(randomBytes(8)))
        token = Secret(hex(randomBytes(8)))
    }

    package init(secret: Secret, aesKey: Secret, tencentKey: Secret, token: Secret) {
        self.secret = secret
        self.aesKey = aesKey
        self.tencentKey = tencentKey
        self.token = token
    }
}
