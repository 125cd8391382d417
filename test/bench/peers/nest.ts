/** NestJS on Express, as its command line sets it up; tuned, on Fastify. */
import 'reflect-metadata'
import {
  type CanActivate,
  Body,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Post,
  Query,
  Res,
  UnauthorizedException,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { host, isAllowed, port, tuned } from './peer.ts'
import { createPrismaStore } from './prisma-store.ts'
import type { Animal, NewAnimal, Store } from './store.ts'

const STORE = 'store'

@Controller('v1/pets')
class PetsController {
  constructor(@Inject(STORE) private readonly store: Store<number>) {}

  @Get()
  async list(
    @Query('limit') limit: string | undefined,
    @Query('cursor') cursor: string | undefined,
    @Res({ passthrough: true }) res: { header(name: string, value: string): void },
  ): Promise<Animal<number>[]> {
    const size = Number(limit ?? 20)
    const { animals, more } = await this.store.list(size, cursor)
    if (more) res.header('Link', `</v1/pets?limit=${size}&cursor=${animals.at(-1)?.id}>; rel="next"`)
    return animals
  }

  @Get(':id')
  async get(@Param('id') id: string): Promise<Animal<number>> {
    const animal = await this.store.get(id)
    if (!animal) throw new NotFoundException()
    return animal
  }

  @Post()
  create(@Body() animal: NewAnimal): Promise<Animal<number>> {
    return this.store.create(animal)
  }
}

@Injectable()
class KeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: { authorization?: string } }>()
    if (!isAllowed(headers.authorization)) throw new UnauthorizedException()
    return true
  }
}

@Module({
  controllers: [PetsController],
  providers: [{ provide: STORE, useFactory: () => createPrismaStore(Number) }],
})
// oxlint-disable-next-line typescript/no-extraneous-class -- Nest reads only the decorator
class AppModule {}

const options = { logger: false } as const
const app = await (tuned
  ? NestFactory.create(AppModule, new FastifyAdapter(), options)
  : NestFactory.create(AppModule, options))
app.useGlobalGuards(new KeyGuard())
await app.listen(port, host)
